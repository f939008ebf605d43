import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import type { Template, TemplatesPushBody } from '@svc/client'
import type { Document } from 'yaml'
import { Failure, misconfigured } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'

/** A template as `push` takes it. */
export type FolderTemplate = TemplatesPushBody['templates'][number]

/** The texts of the files of one template, indexed by their names. */
export type TemplateFiles = ReadonlyMap<string, string>

type Variant = FolderTemplate['variants'][number]

/** The file with the description of a template; its front matter has everything else that belongs to no variant. */
const ABOUT = 'template.md'

const VARIANT_FILE = /^(sms|whatsapp|email|voice)\.([A-Za-z0-9-]+)\.(txt|html|yaml)$/

/** The name becomes a folder, so it may come from a server only in this form. */
const NAME = /^[a-z0-9][a-z0-9_.-]{0,99}$/

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The server refuses a longer template. */
const FILE_BYTES_MAX = 1_048_576

const FOLDERS_MAX = 1_000

/**
 * Reads the templates of a folder: one folder for each of them, or the folder of one.
 * @throws Failure that lists all faulty files.
 */
export async function readFolder(
  folder: string,
  { cwd }: Pick<ProcessIo, 'cwd'>,
  names: readonly string[] = [],
): Promise<FolderTemplate[]> {
  const path = resolve(cwd, folder)
  const entries = await entriesOf(path, folder)
  const isOne = entries.some(({ name }) => name === ABOUT)
  const found = isOne
    ? [{ name: basename(path), path, shown: folder }]
    : entries
        .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
        .map(({ name }) => ({ name, path: join(path, name), shown: join(folder, name) }))
  const missing = names.find((name) => !found.some((one) => one.name === name))
  if (missing !== undefined) throw misconfigured(`${folder} has no folder ${missing}`)
  const chosen = found.filter(({ name }) => names.length === 0 || names.includes(name))
  if (chosen.length === 0) {
    throw misconfigured(`${folder} has no templates: each is a folder with a file ${ABOUT}`)
  }
  if (chosen.length > FOLDERS_MAX) {
    throw misconfigured(`${folder} has more than ${FOLDERS_MAX} folders`)
  }
  const templates: FolderTemplate[] = []
  const faults: string[] = []
  for (const { name, path, shown } of chosen.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    try {
      templates.push(await templateOf(name, await filesIn(path, shown)))
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      faults.push(`${join(shown, error.file)}: ${error.message}`)
    }
  }
  if (faults.length > 0) throw new Failure('usage', faults.join('; '), 2)
  return templates
}

/** Reads the layouts of a folder that templates of it name; a layout without a folder is one that was published. */
export async function readLayouts(
  folder: string,
  io: Pick<ProcessIo, 'cwd'>,
  templates: readonly FolderTemplate[],
): Promise<FolderTemplate[]> {
  const named = new Set(
    templates.flatMap(({ variants }) =>
      variants.flatMap(({ content }) => ('layout' in content ? content.layout : [])),
    ),
  )
  const entries = await entriesOf(resolve(io.cwd, folder), folder)
  const names = entries.filter((entry) => entry.isDirectory() && named.has(entry.name))
  if (names.length === 0) return []
  const found = await readFolder(
    folder,
    io,
    names.map(({ name }) => name),
  )
  return found.filter(({ category }) => category === 'layout')
}

/** Returns the texts of the files of a template folder; without the folder no file. */
export async function readFiles(
  folder: string,
  name: string,
  { cwd }: Pick<ProcessIo, 'cwd'>,
): Promise<TemplateFiles> {
  assertName(name)
  const path = resolve(cwd, folder, name)
  const known = await stat(path).catch(() => null)
  return known ? filesIn(path, join(folder, name)) : new Map()
}

/** Writes and removes files of a template folder. `null` removes the file. */
export async function writeFiles(
  folder: string,
  name: string,
  changes: ReadonlyMap<string, string | null>,
  { cwd }: Pick<ProcessIo, 'cwd'>,
): Promise<void> {
  assertName(name)
  const path = resolve(cwd, folder, name)
  await mkdir(path, { recursive: true })
  for (const [file, text] of changes) {
    if (text === null) await rm(join(path, file), { force: true })
    else await writeFile(join(path, file), text)
  }
}

/** The files of a template. What `templateOf` reads of them is the same template. */
export async function filesOf({
  description,
  category,
  default_locale,
  variables,
  variants,
}: Pick<Template, 'description' | 'category' | 'default_locale' | 'variables' | 'variants'>) {
  const { stringify } = await import('yaml')
  // Lines are not folded, and texts are no blocks: the library reads some blocks that begin with blanks differently.
  const yaml = (value: object) => stringify(value, { lineWidth: 0, blockQuote: false })
  const withFront = (front: object, body: string) => {
    const isBare = Object.keys(front).length === 0
    // One line break is read back as the end of the file, whichever kind it has.
    const text = `${body}${body.endsWith('\r') ? '\r\n' : '\n'}`
    if (isBare && !/^(?:---|\uFEFF)/.test(body)) return text
    return `---\n${isBare ? '' : yaml(front)}---\n${text}`
  }
  const files = new Map<string, string>()
  const about = { category, default_locale, ...(variables.length > 0 && { variables }) }
  files.set(ABOUT, withFront(about, description ?? ''))
  for (const { channel, locale, content } of variants) {
    const { text, html, ...rest } = content as { text?: string; html?: string }
    const name = `${channel}.${locale}`
    if (!VARIANT_FILE.test(`${name}.txt`)) throw refusedName(name)
    if (html === undefined && text === undefined) files.set(`${name}.yaml`, yaml(rest))
    if (html !== undefined) files.set(`${name}.html`, withFront(rest, html))
    if (text !== undefined) {
      files.set(`${name}.txt`, withFront(html === undefined ? rest : {}, text))
    }
  }
  return files
}

/** The template of a folder as the service would store it. */
export function storedForm({
  description = '',
  category = 'transactional',
  default_locale = '',
  variables = [],
  variants,
}: FolderTemplate): Parameters<typeof filesOf>[0] {
  return { description, category, default_locale, variables, variants } as Parameters<
    typeof filesOf
  >[0]
}

/** A fault of one file. */
class Fault extends Error {
  readonly file: string

  constructor(file: string, message: string) {
    super(message)
    this.file = file
  }
}

async function templateOf(name: string, files: TemplateFiles): Promise<FolderTemplate> {
  if (!NAME.test(name)) {
    throw new Fault(
      '',
      'a folder is named as its template: lower-case letters, digits, "-", "_", "."',
    )
  }
  const about = files.get(ABOUT)
  if (about === undefined) throw new Fault('', `it has no file ${ABOUT}`)
  const { front, body: description } = await dividedText(ABOUT, about)
  const { category, default_locale, variables, ...others } = front
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) {
    throw new Fault(ABOUT, `${unknown} is not one of category, default_locale and variables`)
  }
  const variants = await variantsOf(files)
  const locales = [...new Set(variants.map(({ locale }) => locale))]
  if (default_locale === undefined && locales.length > 1) {
    throw new Fault(ABOUT, `default_locale is missing: one of ${locales.join(', ')}`)
  }
  return {
    name,
    ...(description !== '' && { description }),
    ...(category !== undefined && { category }),
    default_locale: default_locale ?? locales[0],
    ...(variables !== undefined && { variables }),
    variants,
  } as FolderTemplate
}

async function variantsOf(files: TemplateFiles): Promise<Variant[]> {
  const contents = new Map<string, { channel: string; locale: string; content: object }>()
  // The HTML of a mail comes before its text, so that a front matter of the text is a fault.
  for (const file of [...files.keys()].sort()) {
    if (file === ABOUT) continue
    const [, channel = '', written = '', kind] = VARIANT_FILE.exec(file) ?? []
    if (!kind) {
      throw new Fault(file, 'a variant is named as sms.de.txt, email.en.html or whatsapp.en.yaml')
    }
    const locale = localeOf(file, written)
    const key = `${channel}.${locale}`
    const known = contents.get(key)
    const text = files.get(file) ?? ''
    if (kind === 'yaml') {
      if (known) throw new Fault(file, `${key} has another file`)
      contents.set(key, { channel, locale, content: await yamlOf(file, text) })
      continue
    }
    const { front, body } = await dividedText(file, text)
    if (kind === 'html' && channel !== 'email') throw new Fault(file, 'only e-mails have HTML')
    const field = kind === 'html' ? 'html' : 'text'
    const [double] = Object.keys(front).filter((name) => name === field || name === 'html')
    if (double !== undefined) {
      throw new Fault(file, `${double} is the text below the front matter, not a field of it`)
    }
    if (known && (channel !== 'email' || kind !== 'txt')) {
      throw new Fault(file, `${key} has another file`)
    }
    if (known && Object.keys(front).length > 0) {
      throw new Fault(file, `the fields of ${key} belong to ${key}.html`)
    }
    if (known && 'text' in known.content) throw new Fault(file, `${key}.html has a text already`)
    contents.set(key, { channel, locale, content: { ...known?.content, ...front, [field]: body } })
  }
  return [...contents.values()] as Variant[]
}

function localeOf(file: string, written: string): string {
  try {
    return Intl.getCanonicalLocales(written)[0] ?? written
  } catch {
    throw new Fault(file, `${written} is not a locale such as en or de-AT`)
  }
}

/** Divides a text into the fields between two lines `---`, and what follows without its last line break. */
async function dividedText(
  file: string,
  text: string,
): Promise<{ front: Record<string, unknown>; body: string }> {
  const plain = text.replace(/^\uFEFF/, '')
  const bodyOf = (rest: string) => rest.replace(/\r?\n$/, '')
  if (!/^---\r?\n/.test(plain)) return { front: {}, body: bodyOf(plain) }
  const first = plain.indexOf('\n') + 1
  const end = /^---\r?$\n?/m.exec(plain.slice(first))
  if (!end) throw new Fault(file, 'the front matter begins with --- and has no second line ---')
  const yaml = plain.slice(first, first + end.index)
  // The line break keeps the numbers of lines in faults.
  const front = yaml.trim() === '' ? {} : await yamlOf(file, `\n${yaml}`)
  return { front, body: bodyOf(plain.slice(first + end.index + end[0].length)) }
}

async function yamlOf(file: string, text: string): Promise<Record<string, unknown>> {
  const { isMap, parseDocument } = await import('yaml')
  const document: Document = parseDocument(text)
  const [error] = document.errors
  // The library shows the lines in further lines.
  if (error) throw new Fault(file, error.message.split('\n', 1)[0]?.replace(/:$/, '') ?? '')
  if (!isMap(document.contents)) throw new Fault(file, 'it must have lines such as subject: Hello')
  try {
    return document.toJS({ maxAliasCount: 0 }) as Record<string, unknown>
  } catch (error) {
    throw new Fault(file, (error as Error).message)
  }
}

/** The files of a template folder; files whose names begin with a dot belong to other programs. */
async function filesIn(path: string, shown: string): Promise<TemplateFiles> {
  const files = new Map<string, string>()
  for (const entry of await entriesOf(path, shown)) {
    if (entry.name.startsWith('.')) continue
    const file = join(path, entry.name)
    const { size } = await stat(file)
    if (entry.isDirectory()) throw new Fault(entry.name, 'a template has no folders in its folder')
    if (size > FILE_BYTES_MAX)
      throw new Fault(entry.name, `it has more than ${FILE_BYTES_MAX} bytes`)
    try {
      files.set(entry.name, UTF8.decode(await readFile(file)))
    } catch {
      throw new Fault(entry.name, 'it is not UTF-8')
    }
  }
  return files
}

async function entriesOf(path: string, shown: string) {
  try {
    return await readdir(path, { withFileTypes: true })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw misconfigured(
      `cannot read ${shown}${code === 'ENOENT' ? ': there is no such folder' : `: ${code}`}`,
    )
  }
}

function assertName(name: string): void {
  if (!NAME.test(name)) throw refusedName(name)
}

function refusedName(name: string): Failure {
  return new Failure(
    'failed',
    `the server gave a name that cannot be a file: ${JSON.stringify(name)}`,
  )
}
