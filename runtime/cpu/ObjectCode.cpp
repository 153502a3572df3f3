//===- ObjectCode.cpp - loads an ELF relocatable into memory --------------===//
//
// One mapping holds three groups of pages: code and call stubs (read, execute),
// constants and the offset table (read), data (read, write). Distances between
// them are small, so 32-bit relative relocations always reach; functions of the
// C library may be far away and are called through stubs.
//
//===----------------------------------------------------------------------===//

#include "ObjectCode.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

namespace heddle {

namespace {
/// Objects are a few MB; this keeps every sum of sizes far from overflow.
constexpr uint64_t kMaxImageBytes = uint64_t(1) << 30;
constexpr uint64_t kStubBytes = 8;

enum Group { Text = 0, Constant = 1, Data = 2, NumGroups = 3 };
} // namespace

/// Loads one object; lives only during ObjectCode::load.
class ObjectLoader {
public:
  ObjectLoader(const uint8_t *data, size_t size, ObjectCode::Resolver resolver)
      : data(data), size(size), resolver(resolver) {}
  Status run(ObjectCode &code);

private:
  struct Section {
    Elf64_Shdr header;
    std::string name;
    bool loaded = false;
    Group group = Data;
    uint64_t offset = 0; // within the group, then within the region
  };
  struct Symbol {
    Elf64_Sym entry;
    std::string name;
    uint64_t address = 0;
    bool external = false;
    bool referenced = false;
    int64_t slot = -1; // in the offset table
    int64_t stub = -1; // among the call stubs
  };

  static Status error(const std::string &why) {
    return Status::error("cannot load the kernels' object code: " + why);
  }
  template <typename T>
  bool readAt(uint64_t offset, T &out) const {
    if (offset > size || sizeof(T) > size - offset)
      return false;
    std::memcpy(&out, data + offset, sizeof(T));
    return true;
  }
  /// A string of a string table, or false if it does not end inside of it.
  bool readString(const Elf64_Shdr &table, uint64_t at,
                  std::string &out) const {
    if (at >= table.sh_size)
      return false;
    const char *begin =
        reinterpret_cast<const char *>(data + table.sh_offset + at);
    const void *end = std::memchr(begin, 0, table.sh_size - at);
    if (!end)
      return false;
    out.assign(begin, static_cast<const char *>(end));
    return true;
  }

  Status readHeader();
  Status readSections();
  Status readSymbols();
  Status place(ObjectCode &code);
  Status resolve();
  Status apply(const Section &section, const Elf64_Rela &rela);
  Status protect(ObjectCode &code);
  Status forEachRelocation(Status (ObjectLoader::*visit)(const Section &,
                                                         const Elf64_Rela &));
  Status visitForSlots(const Section &section, const Elf64_Rela &rela);

  const uint8_t *data;
  size_t size;
  ObjectCode::Resolver resolver;
  Elf64_Ehdr header;
  std::vector<Section> sections;
  std::vector<Symbol> symbols;
  size_t symbolTable = 0; // section number, 0: none
  int64_t numSlots = 0, numStubs = 0;
  uint64_t groupBegin[NumGroups] = {}, groupSize[NumGroups] = {};
  uint64_t slotsAt = 0, stubsAt = 0; // within the region
  uint8_t *region = nullptr;
};

Status ObjectLoader::readHeader() {
  if (!readAt(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return error("expected an elf object, got " + std::to_string(size) +
                 " foreign bytes; recompile with heddle-compile");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != EM_X86_64)
    return error("expected x86-64 code, got elf machine " +
                 std::to_string(header.e_machine) +
                 "; recompile for this machine");
  if (header.e_type != ET_REL)
    return error("expected a relocatable elf object, got elf type " +
                 std::to_string(header.e_type));
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum == 0 ||
      header.e_shoff > size ||
      header.e_shnum > (size - header.e_shoff) / sizeof(Elf64_Shdr))
    return error("its section table is damaged");
  return {};
}

Status ObjectLoader::readSections() {
  sections.resize(header.e_shnum);
  for (size_t i = 0; i < sections.size(); ++i) {
    Elf64_Shdr &s = sections[i].header;
    readAt(header.e_shoff + i * sizeof(Elf64_Shdr), s);
    bool inFile = s.sh_type != SHT_NOBITS && s.sh_type != SHT_NULL;
    if (inFile && (s.sh_offset > size || s.sh_size > size - s.sh_offset))
      return error("section " + std::to_string(i) + " lies outside of it");
    if (s.sh_type == SHT_SYMTAB)
      symbolTable = i;
  }
  if (header.e_shstrndx >= sections.size() ||
      sections[header.e_shstrndx].header.sh_type != SHT_STRTAB)
    return error("it has no section names");
  for (Section &section : sections) {
    const Elf64_Shdr &s = section.header;
    if (!readString(sections[header.e_shstrndx].header, s.sh_name,
                    section.name))
      return error("a section name is damaged");
    // Unwind tables serve exceptions and debuggers; kernels have neither.
    if (!(s.sh_flags & SHF_ALLOC) || s.sh_size == 0 ||
        section.name == ".eh_frame" || s.sh_type == SHT_NOTE)
      continue;
    if (s.sh_flags & SHF_TLS)
      return error("section '" + section.name +
                   "' is thread local, which kernels may not use");
    if (s.sh_type != SHT_PROGBITS && s.sh_type != SHT_NOBITS &&
        s.sh_type != SHT_X86_64_UNWIND)
      return error("section '" + section.name + "' has the unexpected type " +
                   std::to_string(s.sh_type));
    if ((s.sh_flags & SHF_COMPRESSED) ||
        (s.sh_addralign & (s.sh_addralign - 1)) != 0 || s.sh_addralign > 4096)
      return error("section '" + section.name +
                   "' is compressed or has an unexpected alignment");
    if ((s.sh_flags & SHF_EXECINSTR) && (s.sh_flags & SHF_WRITE))
      return error("section '" + section.name +
                   "' is both writable and executable");
    section.loaded = true;
    // .data.rel.ro is written by relocations only.
    bool relocatedConstant = section.name.rfind(".data.rel.ro", 0) == 0;
    section.group = (s.sh_flags & SHF_EXECINSTR)                     ? Text
                    : (s.sh_flags & SHF_WRITE) && !relocatedConstant ? Data
                                                                     : Constant;
    uint64_t align = std::max<uint64_t>(s.sh_addralign, 1);
    uint64_t &end = groupSize[section.group];
    section.offset = (end + align - 1) / align * align;
    if (s.sh_size > kMaxImageBytes ||
        section.offset > kMaxImageBytes - s.sh_size)
      return error("it is larger than 1 GiB");
    end = section.offset + s.sh_size;
  }
  return {};
}

Status ObjectLoader::readSymbols() {
  if (!symbolTable)
    return error("it has no symbols");
  const Elf64_Shdr &table = sections[symbolTable].header;
  if (table.sh_entsize != sizeof(Elf64_Sym) ||
      table.sh_link >= sections.size() ||
      sections[table.sh_link].header.sh_type != SHT_STRTAB)
    return error("its symbol table is damaged");
  const Elf64_Shdr &strings = sections[table.sh_link].header;
  symbols.resize(table.sh_size / sizeof(Elf64_Sym));
  for (size_t i = 0; i < symbols.size(); ++i) {
    Symbol &s = symbols[i];
    readAt(table.sh_offset + i * sizeof(Elf64_Sym), s.entry);
    if (!readString(strings, s.entry.st_name, s.name) && s.entry.st_name != 0)
      return error("a symbol name is damaged");
    unsigned type = ELF64_ST_TYPE(s.entry.st_info);
    if (type == STT_TLS || type == STT_GNU_IFUNC)
      return error("symbol '" + s.name + "' has the unsupported type " +
                   std::to_string(type));
    uint16_t section = s.entry.st_shndx;
    if (section == SHN_COMMON) {
      // Storage that a linker would allocate: st_value is its alignment.
      uint64_t align = s.entry.st_value;
      if (align == 0 || align > 4096 || (align & (align - 1)) != 0 ||
          s.entry.st_size > kMaxImageBytes ||
          groupSize[Data] > kMaxImageBytes - s.entry.st_size)
        return error("common symbol '" + s.name + "' is damaged");
      s.address = (groupSize[Data] + align - 1) / align * align;
      groupSize[Data] = s.address + s.entry.st_size;
    } else if (section == SHN_UNDEF) {
      s.external = i != 0;
    } else if (section == SHN_ABS) {
      s.address = s.entry.st_value;
    } else if (section >= sections.size()) {
      return error("symbol '" + s.name + "' lies in an unknown section");
    } else if (sections[section].loaded &&
               s.entry.st_value > sections[section].header.sh_size) {
      return error("symbol '" + s.name + "' lies outside of its section");
    }
  }
  return {};
}

Status ObjectLoader::forEachRelocation(
    Status (ObjectLoader::*visit)(const Section &, const Elf64_Rela &)) {
  for (const Section &table : sections) {
    const Elf64_Shdr &s = table.header;
    if (s.sh_type != SHT_RELA && s.sh_type != SHT_REL)
      continue;
    if (s.sh_info >= sections.size())
      return error("a relocation table is damaged");
    const Section &target = sections[s.sh_info];
    if (!target.loaded)
      continue; // debug information, unwind tables
    if (s.sh_type == SHT_REL || s.sh_entsize != sizeof(Elf64_Rela) ||
        s.sh_link != symbolTable)
      return error("a relocation table is damaged");
    for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= s.sh_size;
         at += sizeof(Elf64_Rela)) {
      Elf64_Rela rela;
      readAt(s.sh_offset + at, rela);
      if (ELF64_R_SYM(rela.r_info) >= symbols.size())
        return error("a relocation names an unknown symbol");
      if (Status status = (this->*visit)(target, rela); !status)
        return status;
    }
  }
  return {};
}

/// Marks symbols that are used and gives a table slot or a call stub to each
/// that needs one.
Status ObjectLoader::visitForSlots(const Section &, const Elf64_Rela &rela) {
  Symbol &s = symbols[ELF64_R_SYM(rela.r_info)];
  s.referenced = true;
  switch (ELF64_R_TYPE(rela.r_info)) {
  case R_X86_64_GOTPCREL:
  case R_X86_64_GOTPCRELX:
  case R_X86_64_REX_GOTPCRELX:
    if (s.slot < 0)
      s.slot = numSlots++;
    break;
  case R_X86_64_PC32:
  case R_X86_64_PLT32:
    if (!s.external || s.stub >= 0)
      break;
    s.stub = numStubs++;
    if (s.slot < 0)
      s.slot = numSlots++;
    break;
  default:
    break;
  }
  return {};
}

Status ObjectLoader::place(ObjectCode &code) {
  // Stubs follow the code, the offset table follows the constants.
  stubsAt = (groupSize[Text] + 15) / 16 * 16;
  groupSize[Text] = stubsAt + numStubs * kStubBytes;
  slotsAt = (groupSize[Constant] + 15) / 16 * 16;
  groupSize[Constant] = slotsAt + numSlots * 8;
  uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  uint64_t end = 0;
  for (int g = 0; g < NumGroups; ++g) {
    groupBegin[g] = end;
    end += (groupSize[g] + page - 1) / page * page;
  }
  if (end > kMaxImageBytes)
    return error("it is larger than 1 GiB");
  if (groupSize[Text] == 0)
    return error("it holds no code");
  void *memory = mmap(nullptr, end, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return error("cannot map " + std::to_string(end) +
                 " bytes: " + std::strerror(errno));
  code.region = memory;
  code.regionSize = end;
  region = static_cast<uint8_t *>(memory);
  stubsAt += groupBegin[Text];
  slotsAt += groupBegin[Constant];
  for (Section &section : sections) {
    if (!section.loaded)
      continue;
    section.offset += groupBegin[section.group];
    if (section.header.sh_type != SHT_NOBITS)
      std::memcpy(region + section.offset, data + section.header.sh_offset,
                  section.header.sh_size);
  }
  return {};
}

Status ObjectLoader::resolve() {
  uint64_t base = reinterpret_cast<uint64_t>(region);
  std::string unknown;
  for (Symbol &s : symbols) {
    uint16_t section = s.entry.st_shndx;
    if (s.external) {
      // Assemblers list names that nothing refers to, such as
      // _GLOBAL_OFFSET_TABLE_.
      if (!s.referenced)
        continue;
      s.address = reinterpret_cast<uint64_t>(resolver(s.name));
      if (!s.address)
        unknown += (unknown.empty() ? "'" : ", '") + s.name + "'";
    } else if (section == SHN_COMMON) {
      s.address += base + groupBegin[Data];
    } else if (section != SHN_ABS && section < sections.size() &&
               sections[section].loaded) {
      s.address = base + sections[section].offset + s.entry.st_value;
    }
  }
  if (!unknown.empty())
    return error("it calls " + unknown +
                 ", which kernels may not call; they may call memory and math "
                 "functions of the c library only");
  for (const Symbol &s : symbols) {
    uint64_t slot = slotsAt + static_cast<uint64_t>(s.slot) * 8;
    if (s.slot >= 0)
      std::memcpy(region + slot, &s.address, 8);
    if (s.stub < 0)
      continue;
    // jmp *slot(%rip); int3; int3
    uint64_t stub = stubsAt + static_cast<uint64_t>(s.stub) * kStubBytes;
    uint8_t bytes[kStubBytes] = {0xff, 0x25, 0, 0, 0, 0, 0xcc, 0xcc};
    int32_t distance = static_cast<int32_t>(slot - (stub + 6));
    std::memcpy(bytes + 2, &distance, 4);
    std::memcpy(region + stub, bytes, kStubBytes);
  }
  return {};
}

Status ObjectLoader::apply(const Section &section, const Elf64_Rela &rela) {
  const Symbol &s = symbols[ELF64_R_SYM(rela.r_info)];
  uint32_t type = ELF64_R_TYPE(rela.r_info);
  if (type == R_X86_64_NONE)
    return {};
  std::string where =
      "relocation of '" + s.name + "' in section '" + section.name + "'";
  bool wide = type == R_X86_64_64 || type == R_X86_64_PC64;
  uint64_t width = wide ? 8 : 4;
  if (section.header.sh_size < width ||
      rela.r_offset > section.header.sh_size - width)
    return error(where + " lies outside of its section");
  uint64_t place = section.offset + rela.r_offset;
  uint64_t here = reinterpret_cast<uint64_t>(region) + place;
  uint64_t addend = static_cast<uint64_t>(rela.r_addend);
  uint16_t index = s.entry.st_shndx;
  if (!s.external && index < sections.size() && !sections[index].loaded)
    return error(where + " points into a section that is not loaded");

  uint64_t value = 0;
  bool isUnsigned = false;
  switch (type) {
  case R_X86_64_64:
    value = s.address + addend;
    break;
  case R_X86_64_PC64:
    value = s.address + addend - here;
    break;
  case R_X86_64_32:
    value = s.address + addend;
    isUnsigned = true;
    break;
  case R_X86_64_32S:
    value = s.address + addend;
    break;
  case R_X86_64_PC32:
  case R_X86_64_PLT32: {
    uint64_t to = s.address;
    if (s.stub >= 0)
      to = reinterpret_cast<uint64_t>(region) + stubsAt +
           static_cast<uint64_t>(s.stub) * kStubBytes;
    value = to + addend - here;
    break;
  }
  case R_X86_64_GOTPCREL:
  case R_X86_64_GOTPCRELX:
  case R_X86_64_REX_GOTPCRELX:
    value = reinterpret_cast<uint64_t>(region) + slotsAt +
            static_cast<uint64_t>(s.slot) * 8 + addend - here;
    break;
  default:
    return error(where + " has the unknown type " + std::to_string(type));
  }
  if (!wide) {
    int64_t low = isUnsigned ? 0 : INT32_MIN;
    int64_t high = isUnsigned ? UINT32_MAX : INT32_MAX;
    int64_t v = static_cast<int64_t>(value);
    if (v < low || v > high)
      return error(where + " of type " + std::to_string(type) +
                   " does not reach; compile the kernels position independent "
                   "with the small code model");
  }
  std::memcpy(region + place, &value, width);
  return {};
}

Status ObjectLoader::protect(ObjectCode &code) {
  const int rights[NumGroups] = {PROT_READ | PROT_EXEC, PROT_READ,
                                 PROT_READ | PROT_WRITE};
  for (int g = 0; g < NumGroups; ++g) {
    uint64_t end = g + 1 < NumGroups ? groupBegin[g + 1] : code.regionSize;
    if (end > groupBegin[g] &&
        mprotect(region + groupBegin[g], end - groupBegin[g], rights[g]) != 0)
      return error(std::string("cannot make its pages executable: ") +
                   std::strerror(errno));
  }
  for (const Symbol &s : symbols) {
    uint16_t index = s.entry.st_shndx;
    unsigned type = ELF64_ST_TYPE(s.entry.st_info);
    if (s.external || index >= sections.size() || !sections[index].loaded ||
        sections[index].group != Text ||
        ELF64_ST_BIND(s.entry.st_info) == STB_LOCAL ||
        (type != STT_FUNC && type != STT_NOTYPE) ||
        s.entry.st_value >= sections[index].header.sh_size)
      continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): ELF addresses are numbers.
    code.functions[s.name] = reinterpret_cast<void *>(s.address);
  }
  return {};
}

Status ObjectLoader::run(ObjectCode &code) {
  if (Status s = readHeader(); !s)
    return s;
  if (Status s = readSections(); !s)
    return s;
  if (Status s = readSymbols(); !s)
    return s;
  if (Status s = forEachRelocation(&ObjectLoader::visitForSlots); !s)
    return s;
  if (Status s = place(code); !s)
    return s;
  if (Status s = resolve(); !s)
    return s;
  if (Status s = forEachRelocation(&ObjectLoader::apply); !s)
    return s;
  return protect(code);
}

Status ObjectCode::load(const uint8_t *data, size_t size,
                        std::unique_ptr<ObjectCode> &out, Resolver resolve) {
  std::unique_ptr<ObjectCode> code(new ObjectCode);
  if (Status s = ObjectLoader(data, size, resolve).run(*code); !s)
    return s;
  out = std::move(code);
  return {};
}

ObjectCode::~ObjectCode() {
  if (region)
    munmap(region, regionSize);
}

void *ObjectCode::lookup(const std::string &name) const {
  auto it = functions.find(name);
  return it == functions.end() ? nullptr : it->second;
}

} // namespace heddle
