import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as z from 'zod'
import { issueText, pathText } from '../contract/endpoints/issue-text.ts'
import { isRecord } from '../contract/fields/fields.ts'
import { commonSettings } from '../providers/common-settings.ts'
import { PROVIDERS_MAX, type ProviderModule } from '../providers/install.ts'
import { SANDBOX } from '../providers/installed.ts'
import { type ProviderSettings, providerSettings } from '../providers/registry.ts'
import * as types from '../providers/types.ts'

const VARIABLE = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/

/** A provider of an operator's list: settings of a built-in type, or a module with the code of a provider. */
export type ListedProvider = ProviderSettings | (ProviderModule & { name: string })

const moduleEntry = z.strictObject({
  type: z.literal('module'),
  name: commonSettings.name,
  module: z.string().min(1),
  settings: z.unknown().optional(),
})
const entry = z.discriminatedUnion('type', [providerSettings, moduleEntry])

/**
 * Reads a JSON list of providers, in the order in which they are tried. A relative path of a module starts at `folder`. A text that is only `${NAME}` is replaced by the
 * value of that variable, so that secrets need not be in a file.
 *
 * @throws RangeError that names the error and its place, but no value, because a value may be a secret.
 */
export function readProviders(
  json: string,
  variable: (name: string) => string | undefined,
  folder = '.',
): ListedProvider[] {
  const value = filledIn(parsed(json), variable)
  if (!Array.isArray(value)) throw new RangeError('it is not a list')
  if (value.length > PROVIDERS_MAX) throw new RangeError(`it has more than ${PROVIDERS_MAX} items`)
  const providers = value.map((one, position) => listedOf(readEntry(entry, one, position), folder))
  assertNames(providers)
  return providers
}

/** Reads one provider. @throws RangeError in the same cases as `readProviders`. */
export function readProvider(value: unknown): ProviderSettings {
  return readEntry(providerSettings, value, 0)
}

function listedOf(listed: z.output<typeof entry>, folder: string): ListedProvider {
  if (listed.type !== 'module') return listed
  const { name, module, settings } = listed
  const url = module.startsWith('file:') ? module : pathToFileURL(resolve(folder, module)).href
  return { name, module: url, ...(settings !== undefined && { settings }) }
}

function readEntry<S extends z.ZodType>(schema: S, value: unknown, position: number): z.output<S> {
  const worded = new Set<string>()
  const result = schema.safeParse(value, {
    error: (issue) => {
      const isType = pathText(issue.path) === 'type' && isRecord(value)
      const text = isType ? typeText(value.type) : issueText(issue)
      worded.add(text)
      return text
    },
  })
  if (result.success) return result.data
  const [issue] = result.error.issues
  // Only messages of `issueText` contain the field.
  const field = issue && !worded.has(issue.message) ? pathText(issue.path) : ''
  const name = nameOf(value) ?? `${position + 1}`
  throw new RangeError([`provider ${name}`, field, issue?.message].filter(Boolean).join(': '))
}

/** The text for a type that is missing or unknown. */
function typeText(type: unknown): string {
  const schemas = [...Object.values(types).map(({ settings }) => settings), moduleEntry]
  const known = schemas.map(({ shape }) => shape.type.value).join(', ')
  const fault = type === undefined ? 'Missing required field: type' : 'type is unknown'
  return `${fault}. Known types: ${known}`
}

/**
 * Checks the names of all providers.
 * @throws RangeError for two providers with one name, or for a provider with the name of the sandbox.
 */
export function assertNames(providers: readonly { name: string }[]): void {
  const seen = new Set<string>()
  for (const { name } of providers) {
    if (name === SANDBOX.name) {
      throw new RangeError(`provider ${name}: the sandbox is always there and needs no settings`)
    }
    if (seen.has(name)) throw new RangeError(`provider ${name}: the name is used twice`)
    seen.add(name)
  }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw new RangeError('it is not valid JSON')
  }
}

function filledIn(value: unknown, variable: (name: string) => string | undefined): unknown {
  if (typeof value === 'string') {
    const name = VARIABLE.exec(value)?.[1]
    if (name === undefined) return value
    const text = variable(name)
    if (text === undefined) throw new RangeError(`the variable ${name} is not set`)
    return text
  }
  if (Array.isArray(value)) return value.map((item) => filledIn(item, variable))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, filledIn(inner, variable)]),
  )
}

function nameOf(value: unknown): string | null {
  const named = z.object({ name: z.string().max(32) }).safeParse(value)
  return named.success ? named.data.name : null
}
