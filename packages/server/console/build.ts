import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress } from 'node:zlib'
import { build, type Metafile, type Plugin, transform } from 'esbuild'
import { minify } from 'terser'
import type { Bundle } from '../src/console-api/bundle.ts'
import type { BuiltTexts, Texts } from './shell/text.ts'
import { keyOf } from './shell/text-key.ts'

/** The maximum size of the files that the first page needs, compressed. A larger first page makes the first visit slow. */
export const FIRST_MAX_BYTES = 45_300

/** The maximum size of the texts of one language beside English, compressed. A browser loads those of one language, in addition. */
export const LANGUAGE_MAX_BYTES = 27_000

/** The maximum size of all that one browser loads without the texts of a language, compressed: the pages of members with the tools of `svc dev`. */
export const BROWSER_MAX_BYTES = 95_000

const compress = promisify(brotliCompress)

const SOURCES = fileURLToPath(new URL('.', import.meta.url))

/**
 * Builds the console into a folder: scripts, styles and icon with a hash in each name, each also compressed (`.br`), and
 * `bundle.json`, the list of them.
 * @throws Error if they are larger than `FIRST_MAX_BYTES`, `BROWSER_MAX_BYTES` and `LANGUAGE_MAX_BYTES`.
 */
export async function buildConsole(folder: string): Promise<Bundle> {
  await rm(folder, { recursive: true, force: true })
  const { metafile } = await build({
    absWorkingDir: SOURCES,
    entryPoints: ['main.tsx', 'shell/theme.ts', 'styles.css', 'dark.css', 'icon.svg'],
    outdir: resolve(folder),
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    metafile: true,
    conditions: ['source'],
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    loader: { '.svg': 'copy' },
    legalComments: 'none',
    logLevel: 'warning',
    logOverride: { 'ignored-bare-import': 'silent' },
    plugins: [withoutUnused, withFirst, withKeys],
  })
  await shorten(Object.keys(metafile.outputs).map((path) => join(folder, basename(path))))
  const bundle = await describe(metafile, folder)
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'bundle.json'), `${JSON.stringify(bundle, null, 2)}\n`)
  if (
    firstOf(bundle) > FIRST_MAX_BYTES ||
    browserOf(bundle) > BROWSER_MAX_BYTES ||
    languageOf(bundle) > LANGUAGE_MAX_BYTES
  ) {
    throw new Error(`too large: ${sizeLine(bundle)}`)
  }
  return bundle
}

/** The parts of the client that no page calls, a fifth of it: the receiver of webhooks, long bulks and waiting for messages. */
const UNUSED: Record<string, string> = {
  './webhooks/unwrap.ts': 'unwrapWebhook',
  './bulk-run.ts': 'sendAll',
  './wait-for.ts': 'waitFor',
}

const withoutUnused: Plugin = {
  name: 'without-unused',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\.\// }, ({ path, importer }) =>
      path in UNUSED && importer.endsWith('/client/src/svc.ts')
        ? { path, namespace: 'without-unused' }
        : null,
    )
    onLoad({ filter: /./, namespace: 'without-unused' }, ({ path }) => ({
      contents: `export const ${UNUSED[path]} = undefined`,
    }))
  },
}

/**
 * Lets each group of pages import the first script: what the first page shares with a group is then in the first script. Without it
 * the bundler makes a script for each set of groups. In the sources it would be a cycle.
 */
const withFirst: Plugin = {
  name: 'with-first',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]console[\\/]pages[\\/]\w+\.ts$/ }, async ({ path }) => ({
      contents: `import '../main.tsx'\n${await readFile(path, 'utf8')}`,
      loader: 'ts',
    }))
  },
}

/** Gives the texts of a language their keys. */
export const withKeys: Plugin = {
  name: 'with-keys',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]console[\\/]languages[\\/][\w-]+\.ts$/ }, async ({ path }) => {
      const { code } = await transform(await readFile(path, 'utf8'), { loader: 'ts' })
      // The loader of this file may know no TypeScript.
      const module = `data:text/javascript,${encodeURIComponent(code)}`
      const { default: texts } = (await import(module)) as { default: Texts }
      return { contents: `export default ${JSON.stringify(builtTexts(texts))}`, loader: 'js' }
    })
  },
}

/**
 * The texts of a language by `keyOf`.
 * @throws Error if two English texts have one key.
 */
export function builtTexts(texts: Texts): BuiltTexts {
  const built: BuiltTexts = {}
  for (const [text, translated] of Object.entries(texts)) {
    const key = keyOf(text)
    if (key in built) throw new Error(`another text has the key of “${text}”: change one of them`)
    built[key] = translated
  }
  return built
}

/**
 * Minifies scripts again: terser joins and reorders statements, which saves 3.2 kB of 81.8 kB. It puts only short functions into their
 * callers, because copies of longer ones are larger than calls.
 */
async function shorten(files: readonly string[]): Promise<void> {
  for (const file of files.filter((each) => each.endsWith('.js'))) {
    const { code } = await minify(await readFile(file, 'utf8'), {
      module: true,
      ecma: 2020,
      compress: { passes: 3, inline: 1 },
      // One kind of quotes compresses better: 90 bytes of 89.5 kB.
      format: { quote_style: 1 },
    })
    if (!code) throw new Error(`${file} could not be minified`)
    await writeFile(file, code)
  }
}

/**
 * The size of all files that one browser loads without the texts of a language, in bytes, compressed: all but what only operators
 * load, whose browsers load less.
 */
export function browserOf({ files }: Bundle): number {
  const loaded = Object.values(files).filter((one) => !one.is_language && !one.is_operators)
  return loaded.reduce((sum, { brotli_bytes }) => sum + brotli_bytes, 0)
}

/** The size of the largest file of texts of one language, in bytes, compressed. */
export function languageOf({ files }: Bundle): number {
  const texts = Object.values(files).filter(({ is_language }) => is_language)
  return Math.max(...texts.map(({ brotli_bytes }) => brotli_bytes))
}

/** The size of the files that the first page needs, in bytes, compressed. */
export function firstOf({ files }: Bundle): number {
  const initial = Object.values(files).filter(({ is_initial }) => is_initial)
  return initial.reduce((sum, { brotli_bytes }) => sum + brotli_bytes, 0)
}

/** One line about the sizes of a bundle. */
export function sizeLine(bundle: Bundle): string {
  const of = (bytes: number, max: number) =>
    `${(bytes / 1000).toFixed(1)} kB of ${(max / 1000).toFixed(1)} kB`
  return `console: first page ${of(firstOf(bundle), FIRST_MAX_BYTES)}, one browser at most ${of(browserOf(bundle), BROWSER_MAX_BYTES)}, largest language ${of(languageOf(bundle), LANGUAGE_MAX_BYTES)}, compressed`
}

async function describe({ outputs }: Metafile, folder: string): Promise<Bundle> {
  const nameOf = (path: string) => basename(path)
  const entryOf = (source: string) => {
    const found = Object.keys(outputs).find((path) => outputs[path]?.entryPoint === source)
    if (!found) throw new Error(`the build has no file for ${source}`)
    return found
  }
  const main = await firstScript(outputs, entryOf('main.tsx'), folder)
  const styles = entryOf('styles.css')
  const dark = entryOf('dark.css')
  const theme = entryOf('shell/theme.ts')
  const icon = Object.keys(outputs).find((path) => path.endsWith('.svg')) ?? ''
  const initial = new Set([styles, dark, theme, icon, ...statics(outputs, main)])
  const ofMembers = statics(outputs, entryOf('pages/member.ts'))
  const ofOperators = statics(outputs, entryOf('pages/operator.ts'))
  const files: Bundle['files'] = {}
  for (const path of Object.keys(outputs).sort()) {
    const file = join(folder, nameOf(path))
    const content = await readFile(file)
    const compressed = await compress(content)
    await writeFile(`${file}.br`, compressed)
    files[nameOf(path)] = {
      bytes: content.length,
      brotli_bytes: compressed.length,
      is_initial: initial.has(path),
      is_operators: ofOperators.has(path) && !ofMembers.has(path),
      is_language: outputs[path]?.entryPoint?.startsWith('languages/') ?? false,
    }
  }
  return {
    main: nameOf(main),
    styles: nameOf(styles),
    dark: nameOf(dark),
    theme: nameOf(theme),
    icon: nameOf(icon),
    files,
  }
}

/** The script that has `main.tsx`. The bundler leaves of the entry a file that only imports it, which is removed. */
async function firstScript(outputs: Metafile['outputs'], entry: string, folder: string) {
  const [first, ...others] = outputs[entry]?.imports ?? []
  if (!first || others.length > 0) throw new Error('the first page has several scripts')
  delete outputs[entry]
  await rm(join(folder, basename(entry)))
  return first.path
}

/** A file and the files that it imports at once. */
function statics(outputs: Metafile['outputs'], start: string, found = new Set<string>()) {
  if (found.has(start)) return found
  found.add(start)
  for (const { path, kind } of outputs[start]?.imports ?? []) {
    if (kind === 'import-statement') statics(outputs, path, found)
  }
  return found
}
