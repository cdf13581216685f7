//! The record of a megadir benchmark run: plan, cells, samples, machine, and their JSON lines.
