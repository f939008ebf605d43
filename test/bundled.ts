import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'tsup'

const bundles = new Map<string, Promise<string>>()

/**
 * One JavaScript file of a TypeScript module and what it imports by path, for processes that a test starts: compiling
 * each file again took two thirds of the CPU of such a process. `home` is the folder of the package whose dependencies it uses.
 */
export function bundled(module: URL, home: URL): Promise<string> {
  const known = bundles.get(module.href)
  if (known) return known
  const made = bundle(fileURLToPath(module), fileURLToPath(home))
  bundles.set(module.href, made)
  return made
}

/** The service that crash tests kill, which uses the built packages. */
export function bundledVictim(): Promise<string> {
  const root = new URL('../', import.meta.url)
  return bundled(new URL('proof/crash/server.ts', root), root)
}

async function bundle(file: string, home: string): Promise<string> {
  const name = basename(file, '.ts')
  const folder = mkdtempSync(join(tmpdir(), 'svc-bundle-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  symlinkSync(join(home, 'node_modules'), join(folder, 'node_modules'))
  await build({
    entry: { [name]: file },
    outDir: folder,
    format: 'esm',
    target: 'node20',
    outExtension: () => ({ js: '.mjs' }),
    config: false,
    silent: true,
    splitting: false,
    skipNodeModulesBundle: true,
    esbuildPlugins: [
      {
        name: 'places of the sources',
        setup({ onLoad }) {
          onLoad({ filter: /\.ts$/ }, ({ path }) => ({
            loader: 'ts',
            contents: readFileSync(path, 'utf8').replaceAll(
              'import.meta.url',
              JSON.stringify(pathToFileURL(path).href),
            ),
          }))
        },
      },
    ],
  })
  return join(folder, `${name}.mjs`)
}
