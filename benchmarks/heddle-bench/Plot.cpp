//===- Plot.cpp - results as pictures -------------------------------------===//

#include "Plot.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace fs = std::filesystem;

namespace heddle::bench {

Status drawPlots(const Row &data, const std::string &folder) {
  const std::string script = HEDDLE_PLOT_SCRIPT;
  if (!fs::exists(script))
    return Status::error("plot: expected the script '" + script +
                         "', found none; run heddle-bench where it was built");
  std::error_code error;
  fs::create_directories(folder, error);
  std::string path = folder + "/plot.json";
  {
    std::ofstream file(path);
    file << data.dump(1) << "\n";
    file.flush();
    if (!file)
      return Status::error("plot: cannot write '" + path +
                           "'; choose another --plot");
  }
  const char *chosen = std::getenv("HEDDLE_PYTHON");
  std::string python = chosen && *chosen ? chosen : "python3";
  std::string arguments[] = {python, script, path, folder};
  char *argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(),
                  arguments[3].data(), nullptr};
  pid_t child;
  if (posix_spawnp(&child, python.c_str(), nullptr, nullptr, argv, environ))
    return Status::error("plot: expected the interpreter '" + python +
                         "', found none; install python3 or set HEDDLE_PYTHON");
  int status = 0;
  if (waitpid(child, &status, 0) < 0 || !WIFEXITED(status) ||
      WEXITSTATUS(status) != 0)
    return Status::error("plot: '" + python + " " + script +
                         "' failed; its message stands above");
  return Status();
}

} // namespace heddle::bench
