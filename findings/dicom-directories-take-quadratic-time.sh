#!/bin/sh
# Wrong guess: to make a DICOMDIR, the index of a folder of DICOM files, costs a fixed time for each file; identifiers are unique, after all, and looked up in a table. For each file FileSet.add of pydicom goes through all
# that are there, and dcmmkdir through the records of the series: for four times as many files of one series pydicom takes some 12 times as long (500: 2 s, 2000: 22 s) and dcmmkdir 16 times (1000: 0.5 s, 4000:
# 8 s); reading the files alone is linear. Who is hurt: whoever makes the index of series with many files: CT of thin slices, dynamic or functional MR, exports of an archive. Counted as CPU time. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' dcmtk | tee /dev/stderr | grep -q '3\.6\.7-9'
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install pydicom==3.0.2
v/bin/pip freeze | grep '^pydicom=='
v/bin/python - <<'P'
import os, resource, subprocess, time
from pydicom import dcmread
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.fileset import FileSet
from pydicom.uid import ExplicitVRLittleEndian, generate_uid
def folder(count):
    os.mkdir(str(count))
    study, series = generate_uid(), generate_uid()
    for i in range(count):
        file = Dataset(); file.file_meta = FileMetaDataset()
        file.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
        file.SOPClassUID = file.file_meta.MediaStorageSOPClassUID = "1.2.840.10008.5.1.4.1.1.2"
        file.SOPInstanceUID = file.file_meta.MediaStorageSOPInstanceUID = generate_uid()
        file.PatientID = "1"; file.PatientName = "A^B"; file.AccessionNumber = ""
        file.StudyDate = "20240101"; file.StudyTime = "100000"; file.StudyID = "1"; file.StudyDescription = "x"
        file.StudyInstanceUID = study; file.SeriesInstanceUID = series
        file.Modality = "CT"; file.SeriesNumber = 1; file.InstanceNumber = i + 1
        file.save_as(f"{count}/I{i:07}", enforce_file_format=True)
def timed(name, count, run):
    start = time.process_time(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    run()
    spent = time.process_time() - start[0] + resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - start[1]
    print(f"{name}, {count} files of one series: {spent:.2f} s of CPU time", flush=True)
    return spent
def names(count): return [f"{count}/{name}" for name in sorted(os.listdir(str(count)))]
def add(count):
    files = FileSet()
    for name in names(count): files.add(name)
    assert len(files) == count
def read(count):
    for name in names(count): dcmread(name)
def index(count): subprocess.run(["dcmmkdir", "-q", "+r", "+id", str(count), "+D", f"index-{count}"], check=True, stdout=subprocess.DEVNULL)
for count in (500, 1000, 2000, 4000): folder(count)
spent = {count: timed("FileSet.add of pydicom", count, lambda: add(count)) for count in (500, 2000)}
assert spent[2000] > 8 * spent[500] and spent[2000] > 5 * timed("dcmread of pydicom", 2000, lambda: read(2000))
spent = {count: timed("dcmmkdir", count, lambda: index(count)) for count in (1000, 4000)}
assert spent[4000] > 8 * spent[1000]
P
