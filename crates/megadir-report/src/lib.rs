//! From megadir benchmark records to summaries, findings and tables.
