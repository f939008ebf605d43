import { readFile, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { holdsSecret, type Setting } from '@svc/server/settings'
import { misconfigured, usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'
import { pathFrom } from './data-folder.ts'
import { nearest } from './setting-names.ts'

/** The default configuration file, in the current folder. */
const CONFIG_FILE = 'svc.config.json'

const BYTES_MAX = 1024 * 1024

/** The contents of a configuration file. */
interface ConfigFile {
  /** The path for messages: relative to the current folder if the file is in it. */
  path: string
  /** The value for each environment variable, in the form of the environment. */
  texts: ReadonlyMap<string, string>
  /** A warning for the owner of the file, or null. */
  warning: string | null
}

/**
 * The absolute path of the configuration file. If the option or SVC_CONFIG names the file, it must exist.
 * @throws Failure for an empty option.
 */
export function configPath(
  { env, cwd }: Pick<ProcessIo, 'env' | 'cwd'>,
  option: string | undefined,
): { path: string; is_named: boolean } {
  // An empty option is probably an empty shell variable, so refuse it instead of reading the default file.
  if (option?.trim() === '') throw usage('--config has no value')
  const named = option?.trim() ?? (env.SVC_CONFIG?.trim() || undefined)
  return { path: resolve(cwd, named ?? CONFIG_FILE), is_named: named !== undefined }
}

/**
 * Reads the configuration file that `option` or SVC_CONFIG names, else `svc.config.json` in the current folder. Returns
 * null when this default file does not exist.
 * @throws Failure that names the fault and its place. It never names a value, because the value may be a secret.
 */
export async function readConfigFile(
  io: Pick<ProcessIo, 'env' | 'cwd'>,
  option: string | undefined,
): Promise<ConfigFile | null> {
  const { path, is_named } = configPath(io, option)
  const shown = pathFrom(io.cwd, path)
  const found = await textOf(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' && !is_named) return null
    throw misconfigured(`cannot read ${shown}: ${reasonOf(error)}`)
  })
  if (found === null) return null
  const { SETTINGS } = await import('@svc/server/settings')
  const byKey = new Map(SETTINGS.map((setting) => [setting.key, setting]))
  const texts = new Map<string, string>()
  const secrets: string[] = []
  for (const [key, value] of Object.entries(membersOf(found.text, shown))) {
    const setting = byKey.get(key)
    if (!setting) throw misconfigured(unknownText(key, [...byKey.keys()], shown))
    const text = textOfValue(setting, value, { shown, folder: dirname(path) })
    texts.set(setting.env, text)
    if (holdsSecret(setting, text)) secrets.push(key)
  }
  const isExposed = (found.mode & 0o044) !== 0 && process.platform !== 'win32'
  const warning =
    isExposed && secrets.length > 0
      ? `${shown} contains secrets (${secrets.join(', ')}) and other users can read it: chmod 600 ${shown}`
      : null
  return { path: shown, texts, warning }
}

async function textOf(path: string): Promise<{ text: string; mode: number }> {
  const { size, mode, ...stats } = await stat(path).then((found) => ({
    size: found.size,
    mode: found.mode,
    isFile: found.isFile(),
  }))
  if (!stats.isFile) throw new Error('it is not a regular file')
  if (size > BYTES_MAX) throw new Error(`it has more than ${BYTES_MAX} bytes`)
  return { text: await readFile(path, 'utf8'), mode }
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  return code === 'ENOENT' ? 'there is no such file' : (code ?? message)
}

function membersOf(text: string, shown: string): Record<string, unknown> {
  const json = text.replace(/^\uFEFF/, '')
  const fault = jsonFault(json)
  if (fault) {
    throw misconfigured(`${shown}:${fault.line}:${fault.column}: invalid JSON`)
  }
  const value: unknown = JSON.parse(json)
  if (isRecord(value)) return value
  throw misconfigured(`${shown} must contain one JSON object, for example {"port": 3000}`)
}

function unknownText(key: string, known: readonly string[], shown: string): string {
  const suggestion = nearest(key.replace(/^SVC_/, '').toLowerCase(), known)
  const help =
    suggestion === null ? 'svc config show lists the settings' : `did you mean ${suggestion}?`
  return `unknown setting "${key}" in ${shown}: ${help}`
}

/** The value in the form of the environment. */
function textOfValue(
  { key, kind }: Setting,
  value: unknown,
  { shown, folder }: { shown: string; folder: string },
): string {
  if (typeof value === 'string') {
    if (kind === 'path') return value.trim() === '' ? '' : resolve(folder, value.trim())
    if (kind === 'json_or_path' && /^[^[]/.test(value.trim())) return resolve(folder, value.trim())
    if (kind === 'database') return databaseOf(value.trim(), folder)
    return value
  }
  if (typeof value === 'number' && ACCEPTED.number.includes(kind)) return String(value)
  if (typeof value === 'boolean' && kind === 'boolean') return String(value)
  if (kind === 'list' && isListOfTexts(value)) return value.join(',')
  const isStructure = Array.isArray(value) || isRecord(value)
  if (isStructure && ACCEPTED.structure.includes(kind)) return JSON.stringify(value)
  throw misconfigured(`${key} in ${shown} must be ${FORMS[kind]}`)
}

const ACCEPTED: Record<'number' | 'structure', readonly Setting['kind'][]> = {
  number: ['number'],
  structure: ['json', 'json_or_path'],
}

const FORMS: Record<Setting['kind'], string> = {
  text: 'a text in quotes',
  number: 'a number',
  boolean: 'true or false',
  list: 'a text in quotes, or a list of texts without commas',
  json: 'an object or a list',
  json_or_path: 'a list, or the path of a file in quotes',
  path: 'a path in quotes',
  database: 'an address in quotes: file:<path> or postgres://…',
}

/** Returns the URL of the database. The path of a file becomes absolute. */
function databaseOf(url: string, folder: string): string {
  if (url.startsWith('file://')) return URL.canParse(url) ? `file:${fileURLToPath(url)}` : url
  const path = /^file:(.+)$/.exec(url)?.[1]
  return path === undefined ? url : `file:${resolve(folder, path)}`
}

function isListOfTexts(value: unknown): value is string[] {
  return (
    Array.isArray(value) && value.every((item) => typeof item === 'string' && !item.includes(','))
  )
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The position of the first JSON syntax error; lines and columns count from 1. */
interface JsonFault {
  line: number
  column: number
}

const SPACE = /[ \t\r\n]*/y
const STRING = /"(?:[^"\\\r\n\t]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const OTHER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

/** The maximum nesting depth, so that the recursion cannot exhaust the stack. */
const DEPTH_MAX = 100

/**
 * Finds the first JSON syntax error; null for valid JSON. `JSON.parse` gives the position only in some versions of
 * Node, and its message quotes the text at that position, which may be a secret.
 */
export function jsonFault(text: string): JsonFault | null {
  let at = 0
  const skip = (pattern: RegExp) => {
    pattern.lastIndex = at
    const found = pattern.test(text)
    if (found) at = pattern.lastIndex
    return found
  }
  const string = () => {
    const from = at
    if (!skip(STRING)) return false
    if (isJson(text.slice(from, at))) return true
    at = from
    return false
  }
  const is = (character: string) => {
    skip(SPACE)
    if (text[at] !== character) return false
    at += 1
    return true
  }
  const items = (end: string, item: () => boolean): boolean => {
    if (is(end)) return true
    do {
      if (!item()) return false
    } while (is(','))
    return is(end)
  }
  const value = (depth: number): boolean => {
    if (depth > DEPTH_MAX) return false
    skip(SPACE)
    if (is('[')) return items(']', () => value(depth + 1))
    if (is('{')) return items('}', () => member(depth + 1))
    return string() || skip(OTHER)
  }
  const member = (depth: number): boolean => {
    skip(SPACE)
    return string() && is(':') && value(depth)
  }
  const isValue = value(0)
  skip(SPACE)
  if (isValue && at === text.length) return null
  const before = text.slice(0, at).split('\n')
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}

/** Whether the text is JSON. `STRING` also accepts control characters, which JSON strings must not contain. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
