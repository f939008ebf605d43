import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Options } from 'tsup'

/** An entry: ES modules alone, or CommonJS too. */
type Target = { readonly source: string } & (
  | { readonly default: string }
  | { readonly import: string }
)

interface Manifest {
  readonly exports?: Record<string, string | Target>
}

/**
 * The tsup options of every package: ES modules for Node 20 in `dist/`, in the layout of the package's `exports`, with
 * external dependencies. `more` overrides them.
 *
 * Entries share chunks, so that a class such as an error is identical in all entries. Type declarations are on;
 * `scripts/bootstrap.mjs` turns them off for builds of JavaScript only.
 */
export function packageBuild(more: Options = {}): Options {
  const { entry, ...rest } = more
  return {
    entry: { ...entriesOf(readManifest()), ...(entry as Record<string, string>) },
    format: 'esm',
    target: 'node20',
    platform: 'node',
    splitting: true,
    sourcemap: true,
    clean: true,
    skipNodeModulesBundle: true,
    removeNodeProtocol: false,
    dts: declarations(),
    plugins: [asAscii],
    ...rest,
  }
}

/**
 * Writes the characters that esbuild leaves in comments and regular expressions as escapes: V8 holds a file with one character
 * beyond Latin-1 in two bytes per character, and compiles it slower.
 */
const asAscii = {
  name: 'as-ascii',
  // Without a new map: lines and, before the first such character, columns stay.
  renderChunk: (code: string) => ({ code: code.replaceAll(/[^\0-\x7f]/g, escaped) }),
}

/** A UTF-16 unit as an escape of four digits. */
function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/**
 * Options for type declarations: tsup only rolls up those that TypeScript has emitted for all packages at once
 * (`tsconfig.declarations.json`), because to infer them again takes it 130 s of CPU for `@svc/core` alone. `copied`
 * names the modules whose types go into the result, and their declarations.
 */
export function declarations(copied: Record<string, string> = {}): NonNullable<Options['dts']> {
  const entry = Object.entries(entriesOf(readManifest())).map(([name, source]) => {
    const path = join('packages', basename(process.cwd()), source)
    return [name, declarationOf(path)]
  })
  const paths = Object.entries(copied).map(([name, file]) => [name, [file]])
  return {
    entry: Object.fromEntries(entry),
    // tsup sets `baseUrl`, which TypeScript 6 reports as deprecated.
    compilerOptions: { ignoreDeprecations: '6.0', paths: Object.fromEntries(paths) },
  }
}

/** The emitted declarations of a source file, for a build in a package's folder; `path` begins at the root. */
export function declarationOf(path: string): string {
  return join('../../.bootstrap/declarations', path.replace(/\.ts$/, '.d.ts'))
}

function readManifest(): Manifest {
  return JSON.parse(readFileSync('package.json', 'utf8')) as Manifest
}

function entriesOf({ exports = {} }: Manifest): Record<string, string> {
  const modules = Object.values(exports).filter((target) => typeof target !== 'string')
  return Object.fromEntries(
    modules.map((target) => {
      const file = 'default' in target ? target.default : target.import
      return [file.replace(/^\.\/dist\//, '').replace(/\.js$/, ''), target.source]
    }),
  )
}
