import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Options } from 'tsup'

type Plugin = NonNullable<Options['esbuildPlugins']>[number]

/** A text of a file, which is given from the root of the repository, and what replaces it. */
export interface Replacement {
  file: string
  find: string
  replace: string
}

const ROOT = new URL('../../', import.meta.url)

const folders: string[] = []
process.once('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/**
 * Compiles the simulation, with texts replaced, to JavaScript in a temporary folder, and returns the file to run. A process that compiles
 * each module as it loads it needs 14 seconds of a busy machine to start. What is imported late stays in files of its own, because the clock is
 * replaced before the core is loaded.
 * @throws Error if a file whose text is replaced is not part of the simulation.
 */
export async function bundleSimulation(changes: readonly Replacement[] = []): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-simulate-'))
  folders.push(folder)
  const loaded = new Set<string>()
  await build({
    entry: { run: fileURLToPath(new URL('run.ts', import.meta.url)) },
    outDir: folder,
    format: 'esm',
    target: 'node20',
    outExtension: () => ({ js: '.mjs' }),
    config: false,
    silent: true,
    splitting: true,
    esbuildPlugins: [packagesByPath, sources(changes, loaded)],
    esbuildOptions(options) {
      options.conditions = ['source']
    },
  })
  const missing = changes.find(({ file }) => !loaded.has(file))
  if (missing) throw new Error(`${missing.file} is not part of the simulation`)
  return join(folder, 'run.mjs')
}

/** Marks a resolution that the plugin asked for itself. */
const ASKED = Symbol('asked')

/** Packages are loaded from where the module that imports them finds them; those of the workspace are part of the bundle. */
const packagesByPath: Plugin = {
  name: 'packages by path',
  setup({ onResolve, resolve }) {
    onResolve({ filter: /^[^./]/ }, async ({ path, kind, importer, resolveDir, pluginData }) => {
      if (pluginData === ASKED) return null
      if (isBuiltin(path)) return { path, external: true }
      const found = await resolve(path, { kind, importer, resolveDir, pluginData: ASKED })
      if (found.errors.length > 0 || !found.path.includes('/node_modules/')) return found
      return { path: pathToFileURL(found.path).href, external: true }
    })
  },
}

/** The modules of the repository, which find their files from where the sources are. */
function sources(changes: readonly Replacement[], loaded: Set<string>): Plugin {
  return {
    name: 'sources',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const { href } = pathToFileURL(path)
        let contents = readFileSync(path, 'utf8').replaceAll(
          'import.meta.url',
          JSON.stringify(href),
        )
        for (const { file, find, replace } of changes) {
          if (href !== new URL(file, ROOT).href) continue
          loaded.add(file)
          contents = contents.replace(find, () => replace)
        }
        return { loader: 'ts', contents }
      })
    },
  }
}
