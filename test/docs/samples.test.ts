import { join } from 'node:path'
import ts from 'typescript'
import { expect, it } from 'vitest'
import { type Block, type Page, placeOf, ROOT, readPages } from './pages.ts'

/**
 * The samples of the pages under `strict`, as a reader's TypeScript program reads them. They are JavaScript, so parameters
 * need no types; a value that may be absent, such as an environment variable, must be handled.
 */
const OPTIONS: ts.CompilerOptions = {
  allowJs: true,
  checkJs: true,
  noEmit: true,
  strict: true,
  noImplicitAny: false,
  useUnknownInCatchVariables: false,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  erasableSyntaxOnly: true,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
  jsx: ts.JsxEmit.ReactJSX,
  target: ts.ScriptTarget.ES2023,
  lib: ['lib.es2023.d.ts', 'lib.es2024.string.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  customConditions: ['source'],
  types: ['node'],
  paths: {
    '@svc/client': [join(ROOT, 'packages/client/src/index.ts')],
    '@svc/testkit': [join(ROOT, 'packages/testkit/src/index.ts')],
    '@svc/testkit/*': [join(ROOT, 'packages/testkit/src/*.ts')],
  },
}

/** Blocks whose literals TypeScript reads as wider types without an annotation, which JavaScript lacks. */
const ANNOTATED = ['js acme', 'js acme-test', 'js events']

/** Findings that are no faults of a sample. */
const TOLERATED = [
  // A block may continue an earlier one.
  /^Cannot find (?:name|module) /,
  /^No value exists in scope for the shorthand property /,
  // The bodies of frameworks are unknown until the program names their type.
  /'unknown'/,
  // Node types the address of a server that may listen on a pipe.
  /AddressInfo|^Object is possibly 'null'/,
]

const samples = readPages().flatMap((page) =>
  page.blocks
    .filter(({ language, words }) => language === 'js' && !ANNOTATED.includes(`js ${words[0]}`))
    .map((block) => ({ page, block })),
)

function faultsOf(found: readonly { page: Page; block: Block }[]): string[] {
  // In the folder of a package that has the frameworks of the samples among its dependencies.
  const fileOf = (n: number) => join(ROOT, `packages/server/sample-${n}.js`)
  const codes = new Map(found.map(({ block }, n) => [fileOf(n), `${block.code}\nexport {}\n`]))
  const host = ts.createCompilerHost(OPTIONS)
  const { readFile, fileExists, getSourceFile } = host
  host.readFile = (file) => codes.get(file) ?? readFile(file)
  host.fileExists = (file) => codes.has(file) || fileExists(file)
  host.getSourceFile = (file, version, ...rest) => {
    const code = codes.get(file)
    return code === undefined
      ? getSourceFile(file, version, ...rest)
      : ts.createSourceFile(file, code, version, true, ts.ScriptKind.JS)
  }
  const program = ts.createProgram([...codes.keys()], OPTIONS, host)
  return found.flatMap(({ page, block }, n) => {
    const file = program.getSourceFile(fileOf(n))
    if (!file) throw new Error(`${placeOf(page, block)} was not read`)
    const diagnostics = [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ]
    return diagnostics.flatMap(({ messageText, start = 0 }) => {
      const text = ts.flattenDiagnosticMessageText(messageText, ' ')
      if (TOLERATED.some((one) => one.test(text))) return []
      const { line } = file.getLineAndCharacterOfPosition(start)
      return [`${page.path}:${block.line + line + 1}: ${text}`]
    })
  })
}

// Slow, because the types of the packages are read from their sources.
it('the JavaScript samples compile under strict', { timeout: 300_000 }, () => {
  expect(samples.length).toBeGreaterThan(25)
  expect(faultsOf(samples)).toEqual([])
})
