//===- ResultFile.h - {device, config: {runs}, results} ---------*- C++ -*-===//

#ifndef HEDDLE_BENCH_RESULTFILE_H
#define HEDDLE_BENCH_RESULTFILE_H

#include "Row.h"

#include "heddle/Runtime/Program.h"

namespace heddle::bench {

/// A result file that is rewritten, through a temporary file, after every row,
/// so that an interrupted run keeps what it measured.
class ResultFile {
public:
  /// Checks that `path` can be written ("" : no file, "-" : standard output, at
  /// the end only). With `append` an existing file keeps its rows and runs; it
  /// must be of the same device.
  Status open(const std::string &path, bool append, const Row &device,
              const Row &run);
  /// Adds a row and writes the file.
  Status add(const Row &row);
  /// Writes standard output, when that is where the results go.
  Status finish();

private:
  Status write() const;

  std::string path;
  Row document;
};

/// Reads a result file and checks its form.
Status readResultFile(const std::string &path, Row &document);

} // namespace heddle::bench

#endif // HEDDLE_BENCH_RESULTFILE_H
