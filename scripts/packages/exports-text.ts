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

/** Every member of the type `Core`, and of the types of its members, with whether it has a docstring. */
export function membersOfCore(): Map<string, boolean> {
  const found = allExports().find(({ entry }) => entry === '@svc/core')
  const core = found?.symbols.find(({ name }) => name === 'Core')
  if (!found || !core) throw new Error('@svc/core exports no type Core')
  const { checker } = found
  const ours = join(ROOT, 'packages/core/src/')
  const members = new Map<string, boolean>()

  function visit(type: ts.Type, path: string): void {
    for (const member of type.getProperties()) {
      const declared = member.declarations?.[0]
      if (!declared?.getSourceFile().fileName.startsWith(ours)) continue
      const name = path + member.name
      members.set(name, member.getDocumentationComment(checker).length > 0)
      const own = checker.getTypeOfSymbolAtLocation(member, declared)
      const isFunction = own.getCallSignatures().length > 0
      if (!isFunction && path.split('.').length < 4) visit(own, `${name}.`)
    }
  }

  visit(checker.getDeclaredTypeOfSymbol(originOf(core, checker)), '')
  return members
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
  const program = programOf(all.map(({ source }) => source))
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
function programOf(rootNames: readonly string[]): ts.Program {
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    customConditions: ['source'],
    allowImportingTsExtensions: true,
    noEmit: true,
    types: [],
    target: ts.ScriptTarget.ES2023,
    strict: true,
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

/** Their types are computed from tables (settings, endpoints), and users name the results only. */
const COMPUTED = ['@svc/core/contract', '@svc/server']

/**
 * The types of ours that the signature of an export names and that no entry of its package exports, as `name (entry export)`. A user
 * could not write the type of such a parameter or result.
 */
export function unnamedTypes(): string[] {
  const exported = new Set(
    allExports().flatMap(({ checker, symbols }) =>
      symbols.map((symbol) => originOf(symbol, checker)),
    ),
  )
  const found = new Map<string, string>()
  for (const { entry, checker, symbols } of allExports()) {
    if (COMPUTED.includes(entry)) continue
    for (const symbol of symbols) {
      for (const declaration of originOf(symbol, checker).declarations ?? []) {
        for (const named of namedTypes(declaration, checker)) {
          if (!exported.has(named)) found.set(named.name, `${entry} ${symbol.name}`)
        }
      }
    }
  }
  return [...found].map(([name, place]) => `${name} (${place})`).sort()
}

/** The types that a declaration names where its users see them: not in the bodies and initial values, not its type parameters. */
function namedTypes(declaration: ts.Declaration, checker: ts.TypeChecker): Set<ts.Symbol> {
  const found = new Set<ts.Symbol>()
  const visit = (node: ts.Node): void => {
    if (ts.isBlock(node) || isHidden(node)) return
    if (ts.isVariableDeclaration(node)) return void (node.type && visit(node.type))
    const name = ts.isTypeReferenceNode(node)
      ? node.typeName
      : ts.isExpressionWithTypeArguments(node)
        ? node.expression
        : null
    const symbol = name && checker.getSymbolAtLocation(name)
    const origin = symbol && originOf(symbol, checker)
    if (origin && isOurs(origin)) found.add(origin)
    ts.forEachChild(node, visit)
  }
  visit(declaration)
  return found
}

function isHidden(node: ts.Node): boolean {
  if (ts.isParameter(node) || !ts.isClassElement(node)) return ts.isPropertyAssignment(node)
  const isPrivateName = node.name !== undefined && ts.isPrivateIdentifier(node.name)
  return isPrivateName || (ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Private) !== 0
}

function isOurs({ flags, declarations = [] }: ts.Symbol): boolean {
  if ((flags & ts.SymbolFlags.TypeParameter) !== 0) return false
  return declarations.some((one) => /\/packages\/\w+\/src\//.test(one.getSourceFile().fileName))
}
