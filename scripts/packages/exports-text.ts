import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import type { Manifest } from './manifest.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** One entry of a package: its import name, and its source. */
export interface Entry {
  readonly name: string
  readonly source: string
}

/** Every entry of every published package. */
export function entries(): Entry[] {
  return readdirSync(join(ROOT, 'packages')).flatMap((folder) => {
    const path = join(ROOT, 'packages', folder)
    if (!existsSync(join(path, 'package.json'))) return []
    const { name, exports = {} } = JSON.parse(
      readFileSync(join(path, 'package.json'), 'utf8'),
    ) as Manifest
    return Object.entries(exports).flatMap(([subpath, target]) =>
      typeof target === 'string' || target.source === undefined
        ? []
        : [{ name: name + subpath.slice(1), source: join(path, target.source) }],
    )
  })
}

/** Every name that every entry exports, from the sources: values, and names that are only types. */
export function exportsText(): string {
  const sections = allExports().map(({ entry, checker, symbols }) => {
    const lines = symbols.map((symbol) => `  ${kindOf(symbol, checker)} ${symbol.name}\n`)
    return `${entry}\n${lines.join('')}`
  })
  return sections.join('\n')
}

/** The exports without a docstring, as `entry name`. */
export function undocumentedExports(): string[] {
  return allExports().flatMap(({ entry, checker, symbols }) =>
    symbols
      .filter((symbol) => originOf(symbol, checker).getDocumentationComment(checker).length === 0)
      .map(({ name }) => `${entry} ${name}`),
  )
}

interface EntryExports {
  readonly entry: string
  readonly checker: ts.TypeChecker
  readonly symbols: readonly ts.Symbol[]
}

let read: EntryExports[] | undefined

/** Read once: a program takes several seconds. */
function allExports(): EntryExports[] {
  read ??= readExports()
  return read
}

function readExports(): EntryExports[] {
  const all = entries()
  // Only names are needed, not types.
  const program = programOf(
    all.map(({ source }) => source),
    { noLib: true },
  )
  const checker = program.getTypeChecker()
  const found = all.map(({ name, source }) => {
    const file = program.getSourceFile(source)
    const module = file && checker.getSymbolAtLocation(file)
    if (!module) throw new Error(`${name} exports nothing`)
    const symbols = checker.getExportsOfModule(module).sort((a, b) => (a.name < b.name ? -1 : 1))
    return { entry: name, checker, symbols }
  })
  return found.sort((a, b) => (a.entry < b.entry ? -1 : 1))
}

/** Our own sources, without those of other packages, which take most of the time. */
export function programOf(rootNames: readonly string[], more: ts.CompilerOptions = {}): ts.Program {
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    customConditions: ['source'],
    allowImportingTsExtensions: true,
    noEmit: true,
    types: [],
    ...more,
  }
  const host = ts.createCompilerHost(options)
  host.resolveModuleNameLiterals = (literals, file, redirected, given) =>
    literals.map(({ text }) =>
      /^(\.|@svc\/)/.test(text)
        ? ts.resolveModuleName(text, file, given, host, undefined, redirected, ESM)
        : { resolvedModule: undefined },
    )
  return ts.createProgram({ rootNames, options, host })
}

const ESM = ts.ModuleKind.ESNext

function kindOf(symbol: ts.Symbol, checker: ts.TypeChecker): 'value' | 'type' {
  if (symbol.declarations?.some(ts.isTypeOnlyExportDeclaration)) return 'type'
  return (originOf(symbol, checker).flags & ts.SymbolFlags.Value) === 0 ? 'type' : 'value'
}

function originOf(symbol: ts.Symbol, checker: ts.TypeChecker): ts.Symbol {
  const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0
  return isAlias ? checker.getAliasedSymbol(symbol) : symbol
}
