// A compiler for the virtual device, with the interface of NVRTC: kernels become shared libraries, made
// by the host's compiler. What comes before the line `// ---- end of the prelude` is compiled once.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <initializer_list>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

extern char** environ;

enum Result { SUCCESS = 0, OUT_OF_MEMORY = 1, INVALID_INPUT = 3, INVALID_PROGRAM = 4, INVALID_OPTION = 5, COMPILATION = 6 };
static const char MARK[] = "// ---- end of the prelude";
static const char* const OPTIONS[] = {
    "-std=gnu++17", "-O1", "-fPIC", "-w", "-fwrapv", "-ffp-contract=off", "-fno-strict-aliasing", "-fno-exceptions",
    "-fno-rtti", "-fvisibility=hidden", "-fno-math-errno", "-fno-stack-protector", "-fsanitize=thread",
    "-g1", "-gdwarf-4", "-fsanitize=bounds,integer-divide-by-zero,alignment", "-fno-sanitize-recover=all",
#if defined(UST_GCC)
    // Without what is not needed: entries of functions, names unique in the process.
    "-fno-gnu-unique", "--param=tsan-distinguish-volatile=1", "--param=tsan-instrument-func-entry-exit=0",
#else
    "-mllvm", "-tsan-distinguish-volatile=1", "-mllvm", "-tsan-instrument-func-entry-exit=0",
#endif
};

struct Program {
  std::string text, log, image;
  std::vector<std::string> options;
};

typedef std::vector<std::string> Words;

static std::string read_all(const std::string& path) {
  std::string text;
  if (FILE* f = fopen(path.c_str(), "rb")) {
    char piece[65536];
    for (size_t n; (n = fread(piece, 1, sizeof piece, f)) > 0;) text.append(piece, n);
    fclose(f);
  }
  return text;
}

static bool write_all(const std::string& path, const std::string& text) {
  FILE* f = fopen(path.c_str(), "wb");
  if (!f) return false;
  bool fine = fwrite(text.data(), 1, text.size(), f) == text.size();
  return fclose(f) == 0 && fine;
}

static void remove_all(const std::string& folder) {
  if (DIR* open = opendir(folder.c_str())) {
    while (dirent* e = readdir(open)) unlink((folder + "/" + e->d_name).c_str());
    closedir(open);
  }
  rmdir(folder.c_str());
}

// Runs the compiler; what it says goes to `log`.
static bool compile(Words words, const std::string& folder, std::string& log) {
  std::vector<char*> args;
  for (std::string& w : words) args.push_back(&w[0]);
  args.push_back(nullptr);
  std::string said = folder + "/log";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, said.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child;
  int failed = posix_spawnp(&child, args[0], &actions, nullptr, args.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) {
    log += "cannot run " + words[0] + ": " + strerror(failed) + "\n";
    return false;
  }
  int status = -1;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  log += read_all(said);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static Words command() {
  Words words;
  words.push_back(UST_CXX);
  for (const char* o : OPTIONS) words.push_back(o);
  return words;
}

static uint64_t hash(const std::string& text) {
  uint64_t h = 0xcbf29ce484222325;
  for (unsigned char c : text) h = (h ^ c) * 0x100000001b3;
  return h;
}

// Where this library lies, and kernel.h beside it.
static std::string home() {
  Dl_info info;
  dladdr((void*)&home, &info);
  std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/'));
}

// Precompiled preludes take 16 MB each: those made last are kept.
static void forget_preludes(size_t keep) {
  std::vector<std::pair<time_t, std::string>> found;
  if (DIR* open = opendir(home().c_str())) {
    while (dirent* e = readdir(open)) {
      std::string path = home() + "/" + e->d_name;
      struct stat s;
      if (path.size() > 4 && path.compare(path.size() - 4, 4, ".gch") == 0 && stat(path.c_str(), &s) == 0)
        found.push_back({s.st_mtime, path});
    }
    closedir(open);
  }
  std::sort(found.begin(), found.end());
  for (size_t i = 0; i + keep < found.size(); i++) unlink(found[i].second.c_str());
}

// The header and the prelude, precompiled; the path to include.
static bool prelude(const std::string& text, const std::string& folder, std::string& path, std::string& log) {
  static std::mutex door;
  std::lock_guard<std::mutex> entered(door);
  char name[32];
  snprintf(name, sizeof name, "prelude-%016llx.h", (unsigned long long)hash(text));
  path = home() + "/" + name;
  if (access((path + ".gch").c_str(), R_OK) == 0) return true;
  std::string own = folder + "/" + name;
  if (!write_all(own, "#include \"" + home() + "/kernel.h\"\n#line 1 \"prelude\"\n" + text)) return false;
  Words words = command();
  for (const std::string& w : {std::string("-x"), std::string("c++-header"), own, std::string("-o"), own + ".gch"}) words.push_back(w);
  if (!compile(words, folder, log)) return false;
  // Another process may do the same: what it put there is as good.
  std::string copy = path + "." + std::to_string(getpid());
  if (!write_all(copy, read_all(own)) || rename(copy.c_str(), path.c_str())) return false;
  if (!write_all(copy, read_all(own + ".gch")) || rename(copy.c_str(), (path + ".gch").c_str())) return false;
  forget_preludes(12);
  return true;
}

// The text without comments, strings and directives, as long as before.
static std::string plain(std::string t) {
  for (size_t i = 0; i < t.size(); i++) {
    if (t[i] == '/' && i + 1 < t.size() && t[i + 1] == '/') {
      while (i < t.size() && t[i] != '\n') t[i++] = ' ';
    } else if (t[i] == '/' && i + 1 < t.size() && t[i + 1] == '*') {
      size_t end = t.find("*/", i + 2);
      end = end == std::string::npos ? t.size() : end + 2;
      for (; i < end; i++) if (t[i] != '\n') t[i] = ' ';
      i--;
    } else if (t[i] == '"' || (t[i] == '\'' && (i == 0 || !isalnum((unsigned char)t[i - 1])))) {
      char quote = t[i];
      for (i++; i < t.size() && t[i] != quote; i++) {
        if (t[i] == '\\') t[i++] = ' ';
        if (i < t.size() && t[i] != '\n') t[i] = ' ';
      }
    }
  }
  bool line = true;
  for (size_t i = 0; i < t.size(); i++) {
    if (line && t[i] == '#') {
      for (; i < t.size() && t[i] != '\n'; i++) {
        if (t[i] == '\\' && i + 1 < t.size() && t[i + 1] == '\n') t[i++] = ' ';
        if (t[i] != '\n') t[i] = ' ';
      }
    }
    line = i < t.size() && (t[i] == '\n' || (line && isspace((unsigned char)t[i])));
  }
  return t;
}

static bool of_name(char c) { return isalnum((unsigned char)c) || c == '_'; }
static void skip_space(const std::string& t, size_t& i) { while (i < t.size() && isspace((unsigned char)t[i])) i++; }
static std::string word(const std::string& t, size_t& i) {
  skip_space(t, i);
  size_t from = i;
  while (i < t.size() && of_name(t[i])) i++;
  return t.substr(from, i - from);
}
static std::string in_brackets(const std::string& t, size_t& i) {
  skip_space(t, i);
  if (i >= t.size() || t[i] != '(') return "";
  size_t from = ++i;
  for (int depth = 1; i < t.size(); i++) {
    depth += t[i] == '(' ? 1 : t[i] == ')' ? -1 : 0;
    if (depth == 0) break;
  }
  return t.substr(from, i++ - from);
}

// Whether a declaration that goes on at `at` is one of C: only those have their names on a device.
static bool is_of_c(const std::string& t, size_t at) {
  std::string before;
  for (size_t i = at; i > 0 && before.size() < 9 && (i + 200 > at); i--) if (!isspace((unsigned char)t[i - 1])) before.insert(before.begin(), t[i - 1]);
  static const std::string C = "extern\"\"";
  if (before.size() >= C.size() && before.compare(before.size() - C.size(), C.size(), C) == 0) return true;
  // Within `extern "C" { }`, where no templates are.
  size_t open = t.rfind("extern \" \" {", at);
  return open != std::string::npos && (before.empty() || before.back() != '>');
}

// The lines behind the text: each kernel is given an entry that the driver finds.
static std::string entries(const std::string& t) {
  std::string lines;
  static const std::string GLOBAL = "__global__", BOUNDS = "__launch_bounds__";
  std::vector<std::pair<std::string, std::string>> found;
  for (size_t at = 0; (at = t.find(GLOBAL, at)) != std::string::npos;) {
    bool named = is_of_c(t, at);
    at += GLOBAL.size();
    if (!named) continue;
    std::string most = "1024", name, next;
    size_t i = at;
    while (!(next = word(t, i)).empty()) {
      if (next != BOUNDS) { name = next; continue; }
      std::string said = in_brackets(t, i);
      int depth = 0;
      size_t end = 0;
      for (; end < said.size() && !(said[end] == ',' && depth == 0); end++) depth += said[end] == '(' ? 1 : said[end] == ')' ? -1 : 0;
      most = said.substr(0, end);
    }
    if (i >= t.size() || t[i] != '(' || name.empty()) continue;
    // It may be declared before, without bounds.
    auto same = std::find_if(found.begin(), found.end(), [&](const auto& other) { return other.first == name; });
    if (same == found.end()) found.push_back({name, most});
    else if (most != "1024") same->second = most;
  }
  for (const auto& kernel : found) lines += "UST_KERNEL(" + kernel.first + ", " + kernel.second + ")\n";
  return lines;
}

// `extern __shared__` is a declaration without a definition: the word that makes variables static in
// kernel.h is taken away, and the definition comes behind the text.
static std::string dynamic(std::string& text) {
  std::string plainly = plain(text), lines;
  std::vector<std::string> names;
  static const std::string SHARED = "__shared__";
  for (size_t at = 0; (at = plainly.find("extern", at)) != std::string::npos;) {
    at += 6;
    size_t i = at;
    skip_space(plainly, i);
    if (i == at || plainly.compare(i, SHARED.size(), SHARED) != 0) continue;
    text.replace(i, SHARED.size(), SHARED.size(), ' ');
    size_t end = plainly.find('[', i);
    if (end == std::string::npos) continue;
    while (end > i && !of_name(plainly[end - 1])) end--;
    size_t from = end;
    while (from > i && of_name(plainly[from - 1])) from--;
    names.push_back(plainly.substr(from, end - from));
  }
  if (names.empty()) return "";
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  lines = "alignas(1024) __attribute__((used)) static unsigned char ust_dynamic[UST_DYNAMIC] __asm__(\"ust_dynamic\");\n";
  for (const std::string& n : names) lines += "asm(\".globl " + n + "\\n.hidden " + n + "\\n.set " + n + ", ust_dynamic\");\n";
  return lines;
}

// The definition that an option asks for. It comes behind the header, which is nobody's text.
static std::string definition(std::string said) {
  size_t equals = said.find('=');
  if (equals == std::string::npos) return "#define " + said + " 1\n";
  return "#define " + said.substr(0, equals) + " " + said.substr(equals + 1) + "\n";
}

static int build(Program& p, const std::string& folder) {
  std::string definitions;
  for (const std::string& o : p.options) {
    static const char* const KNOWN[] = {"--gpu-architecture=", "-arch=", "--std=", "-std=", "--fmad=", "-fmad=",
                                        "--ftz=", "--prec-div=", "--prec-sqrt=", "--use_fast_math", "--maxrregcount=",
                                        "-lineinfo", "--generate-line-info", "-default-device", "--device-as-default-execution-space"};
    bool known = false;
    for (const char* k : KNOWN) known |= o.compare(0, strlen(k), k) == 0;
    static const std::string LONG = "--define-macro=";
    if (o.compare(0, 2, "-D") == 0) definitions += definition(o.substr(2));
    else if (o.compare(0, LONG.size(), LONG) == 0) definitions += definition(o.substr(LONG.size()));
    else if (!known) { p.log += "unrecognized option " + o + "\n"; return INVALID_OPTION; }
  }
  size_t mark = p.text.find(MARK), cut = 0;
  if (mark != std::string::npos && definitions.empty()) {
    cut = p.text.find('\n', mark);
    cut = cut == std::string::npos ? p.text.size() : cut + 1;
  }
  std::string head = p.text.substr(0, cut), body = p.text.substr(cut), path;
  if (!prelude(head, folder, path, p.log)) return COMPILATION;
  std::string behind = dynamic(body);
  behind += entries(plain(body));
  auto line = std::to_string(1 + std::count(head.begin(), head.end(), '\n'));
  std::string source = folder + "/kernel.cu", made = folder + "/kernel.so";
  if (!write_all(source, definitions + "#line " + line + " \"kernel.cu\"\n" + body + "\n#line 1 \"entries\"\n" + behind)) return OUT_OF_MEMORY;
  Words words = command();
  // Symbols of the sanitizer are the driver's: its library is not linked.
  for (const std::string& w : {std::string("-include"), path, std::string("-shared"), std::string("-nostdlib"),
                               std::string("-o"), made, std::string("-x"), std::string("c++"), source, std::string("-x"), std::string("none"),
                               std::string("-lgcc")}) words.push_back(w);
  if (!compile(words, folder, p.log)) return COMPILATION;
  std::string library = read_all(made);
  uint64_t n = library.size();
  p.image = "UST-EMU1" + std::string((const char*)&n, 8) + library;
  return SUCCESS;
}

extern "C" {
// The version is a number of the emulator's own, so that nobody takes its images for those of NVRTC.
int nvrtcVersion(int* major, int* minor) { *major = 0; *minor = UST_FINGERPRINT; return SUCCESS; }
const char* nvrtcGetErrorString(int code) {
  switch (code) {
    case SUCCESS: return "NVRTC_SUCCESS";
    case INVALID_OPTION: return "NVRTC_ERROR_INVALID_OPTION";
    case COMPILATION: return "NVRTC_ERROR_COMPILATION";
    default: return "NVRTC_ERROR_INTERNAL_ERROR";
  }
}
int nvrtcCreateProgram(void** out, const char* text, const char*, int headers, const char* const*, const char* const*) {
  if (headers) return INVALID_INPUT;
  Program* p = new Program;
  p->text = text;
  *out = p;
  return SUCCESS;
}
int nvrtcDestroyProgram(void** p) { delete (Program*)*p; *p = nullptr; return SUCCESS; }
int nvrtcCompileProgram(void* program, int n, const char* const* options) {
  Program& p = *(Program*)program;
  p.options.assign(options, options + n);
  const char* tmp = getenv("TMPDIR");
  std::string folder = std::string(tmp ? tmp : "/tmp") + "/ust-emulator-XXXXXX";
  if (!mkdtemp(&folder[0])) return OUT_OF_MEMORY;
  int result = build(p, folder);
  remove_all(folder);
  return result;
}
int nvrtcGetProgramLogSize(void* p, size_t* n) { *n = ((Program*)p)->log.size() + 1; return SUCCESS; }
int nvrtcGetProgramLog(void* p, char* to) {
  const std::string& log = ((Program*)p)->log;
  memcpy(to, log.c_str(), log.size() + 1);
  return SUCCESS;
}
int nvrtcGetCUBINSize(void* p, size_t* n) { *n = ((Program*)p)->image.size(); return SUCCESS; }
int nvrtcGetCUBIN(void* p, char* to) {
  const std::string& image = ((Program*)p)->image;
  memcpy(to, image.data(), image.size());
  return SUCCESS;
}
}
