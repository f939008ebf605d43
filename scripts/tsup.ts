import { readFileSync } from 'node:fs'
import type { Options } from 'tsup'

interface Manifest {
  readonly exports?: Record<string, string | { readonly source: string; readonly default: string }>
}

/**
 * The tsup options every package builds with: ES modules for Node 20 in `dist/`, laid out as the package's `exports`
 * promise, with its dependencies left outside. `more` adds to them.
 *
 * Entries share chunks, so that a class such as an error is the same one whichever entry it came in by.
 * Type declarations are on; `scripts/bootstrap.mjs` turns them off where only the JavaScript is wanted.
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
    ...rest,
  }
}

/** Type declarations; `paths` names the modules whose types are to be copied in, and the files they are in. */
export function declarations(paths: Record<string, string[]> = {}): NonNullable<Options['dts']> {
  // tsup sets `baseUrl`, which TypeScript 6 reports as deprecated.
  return { compilerOptions: { ignoreDeprecations: '6.0', paths } }
}

function readManifest(): Manifest {
  return JSON.parse(readFileSync('package.json', 'utf8')) as Manifest
}

function entriesOf({ exports = {} }: Manifest): Record<string, string> {
  const modules = Object.values(exports).filter((target) => typeof target !== 'string')
  return Object.fromEntries(
    modules.map((target) => [
      target.default.replace(/^\.\/dist\//, '').replace(/\.js$/, ''),
      target.source,
    ]),
  )
}
