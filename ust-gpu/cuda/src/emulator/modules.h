// Compiled kernels, loaded: shared libraries, and what is known about their variables.
#pragma once
#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <unistd.h>

#include "checks.h"

struct Module {
  void* library = nullptr;
  uintptr_t base = 0;
  std::string image;
  // Its variables, and what it only reads.
  std::vector<Block*> regions;
  std::vector<Block*> shared;
  Block* dynamic = nullptr;
  size_t shared_bytes = 0;
  std::vector<struct Function*> functions;

  ~Module();
};

struct Function {
  Module* module;
  std::string name;
  Kernel kernel;
  // Bytes of dynamic shared memory that a launch may ask for.
  int dynamic;
};

inline Module::~Module() {
  for (Block* b : regions) delete b;
  for (Function* f : functions) delete f;
  dlclose(library);
}

// An image: these letters, the number of bytes that follow, and a shared library.
static const char MAGIC[9] = "UST-EMU1";
struct Segments { uintptr_t base; Module* module; };
// Constants of the compiler: texts, tables.
static int see(dl_phdr_info* info, size_t, void* data) {
  Segments* s = (Segments*)data;
  if (info->dlpi_addr != s->base) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)& p = info->dlpi_phdr[i];
    if (p.p_type != PT_LOAD || p.p_flags & PF_W) continue;
    Block* b = new Block(info->dlpi_addr + p.p_vaddr, p.p_memsz, "the code of the module");
    b->writable = false;
    b->preset = true;
    s->module->regions.push_back(b);
  }
  return 1;
}
// Variables, from the table of symbols.
static void variables(Module* m, const char* image, uintptr_t base) {
  const ElfW(Ehdr)* file = (const ElfW(Ehdr)*)image;
  const ElfW(Shdr)* sections = (const ElfW(Shdr)*)(image + file->e_shoff);
  const char* names = image + sections[file->e_shstrndx].sh_offset;
  for (unsigned i = 0; i < file->e_shnum; i++) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const ElfW(Sym)* symbols = (const ElfW(Sym)*)(image + sections[i].sh_offset);
    const char* texts = image + sections[sections[i].sh_link].sh_offset;
    for (size_t k = 0; k < sections[i].sh_size / sizeof *symbols; k++) {
      const ElfW(Sym)& symbol = symbols[k];
      if ((symbol.st_info & 15) != STT_OBJECT || !symbol.st_size || symbol.st_shndx >= file->e_shnum) continue;
      const ElfW(Shdr)& section = sections[symbol.st_shndx];
      if (!(section.sh_flags & SHF_WRITE)) continue;
      const char *in = names + section.sh_name, *name = texts + symbol.st_name;
      int status = 1;
      char* plain = abi::__cxa_demangle(name, nullptr, nullptr, &status);
      Block* b = new Block(base + symbol.st_value, symbol.st_size, std::string("`") + (plain ? plain : name) + "`");
      free(plain);
      m->regions.push_back(b);
      if (!strcmp(name, "ust_dynamic")) {
        b->name = "dynamic shared memory";
        b->shared = true;
        m->dynamic = b;
        m->shared.push_back(b);
      } else if (!strcmp(in, "ust_shared")) {
        b->name = "shared " + b->name;
        b->shared = true;
        m->shared.push_back(b);
        m->shared_bytes += b->bytes;
      } else {
        b->preset = true;
        b->writable = strcmp(in, "ust_constant") != 0;
      }
    }
  }
}
static std::string temporary_file(const char* from, uint64_t n) {
  const char* folder = getenv("TMPDIR");
  std::string path = std::string(folder ? folder : "/tmp") + "/ust-emulator-XXXXXX";
  int file = mkstemp(&path[0]);
  if (file < 0) return "";
  for (uint64_t done = 0; done < n;) {
    ssize_t k = write(file, from + done, n - done);
    if (k <= 0) break;
    done += (uint64_t)k;
  }
  close(file);
  return path;
}
// The line of the text where the kernel was, if the tool that knows is there.
static std::string line_of(const Module& m, uintptr_t at) {
  if (!at) return "";
  std::string path = temporary_file(m.image.data(), m.image.size()), found;
  FILE* tool = popen(("addr2line -i -e " + path + " " + hex(at - 1 - m.base) + " 2>/dev/null").c_str(), "r");
  char line[512];
  // From the innermost function on: those of kernel.h are nobody's text.
  while (tool && fgets(line, sizeof line, tool)) {
    std::string place = line;
    place = place.substr(place.rfind('/') + 1);
    place = place.substr(0, place.find_first_of(" \n"));
    if (place.compare(0, 8, "prelude-") == 0) place = "prelude" + place.substr(place.find(':'));
    if (place.compare(0, 8, "kernel.h") && place[0] != '?') found += (found.empty() ? " at " : " from ") + place;
  }
  if (tool) pclose(tool);
  unlink(path.c_str());
  return found;
}

// Loads an image; none, and why, if it is not one.
static Module* load(const void* image, std::string& why) {
  why = "not an image of the emulator";
  if (memcmp(image, MAGIC, 8) != 0) return nullptr;
  uint64_t n;
  memcpy(&n, (const char*)image + 8, 8);
  // A name that no library had before: the loader knows libraries by their names.
  const char* from = (const char*)image + 16;
  std::string path = temporary_file(from, n);
  why = "no temporary file";
  if (path.empty()) return nullptr;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) why = dlerror();
  unlink(path.c_str());
  if (!library) return nullptr;
  Module* m = new Module;
  m->library = library;
  link_map* map = nullptr;
  dlinfo(library, RTLD_DI_LINKMAP, &map);
  m->base = map->l_addr;
  m->image.assign(from, n);
  variables(m, from, map->l_addr);
  Segments s{map->l_addr, m};
  dl_iterate_phdr(see, &s);
  return m;
}
