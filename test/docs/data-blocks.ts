import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { api, decode, type Endpoint, EVENTS, type EventKind } from '@svc/core/contract'
import { SETTINGS } from '@svc/server/settings'
import { parse as parseYaml } from 'yaml'
import { readConfigFile } from '../../packages/cli/src/settings/config-file.ts'
import { allCommands } from '../../packages/cli/test/commands-in.ts'
import { readProvider, readProviders } from '../../packages/core/src/carriers/read-providers.ts'
import type { Block, Page } from './pages.ts'

/** Throws when a block is wrong. */
type Check = (block: Block, page: Page) => void | Promise<void>

/** The checks of blocks that are not run, by language and the word after it. */
export const DATA_CHECKS: Record<string, Check> = {
  'json providers.json': ({ code }) => void readProviders(code, variableOf),
  'json provider-module': ({ code }) => void readProviders(code, variableOf),
  'json svc.config.json': ({ code }) => readsAsConfig(code),
  'json answer': ({ code, words }) => isAnswer(words[1] ?? '', JSON.parse(code)),
  'json event': ({ code }) => isEvent(JSON.parse(code)),
  'json log': ({ code }) => eachLine(code, isLogLine),
  'json results': ({ code }) => eachLine(code, isRowResult),
  'jsonc content': ({ code, words }) => eachLine(code, (line) => isContent(words[1] ?? '', line)),
  'jsonc smtp': ({ code }) => void readProvider({ ...SMTP, ...JSON.parse(`{${code}}`) }),
  yaml: ({ code }) => void parseYaml(code, { strict: true }),
  'csv people.csv': isUsedByACommand,
  ini: ({ code }) => code.split('\n').forEach(isSettingLine),
  cron: ({ code }) => code.trimEnd().split('\n').forEach(isCronLine),
  text: ({ code }) => hidesNoCommand(code),
  mermaid: ({ code }) => isFlowchart(code),
}

function variableOf(name: string): string {
  if (name === 'DKIM_KEY') {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  }
  return name.endsWith('_URL') ? 'smtps://user:password@localhost' : 'a-secret-of-sixteen'
}

const SMTP = {
  ...{ type: 'smtp', name: 'smtp', url: 'smtps://user:password@localhost' },
  mail_domain: 'example.com',
}

/** The check of a block: by language and word, otherwise by language. */
export function checkFor({ language, words }: Block): Check | undefined {
  return DATA_CHECKS[`${language} ${words[0] ?? ''}`.trim()]
}

async function readsAsConfig(code: string): Promise<void> {
  const cwd = await mkdtemp(join(tmpdir(), 'svc-docs-'))
  try {
    await writeFile(join(cwd, 'svc.config.json'), code)
    await readConfigFile({ env: {}, cwd }, undefined)
  } finally {
    await rm(cwd, { recursive: true })
  }
}

/** `…` in an answer stands for a value that differs for each reader. */
function isAnswer(name: string, value: unknown): void {
  const [group = '', action = ''] = name.split('.')
  const groups: Record<string, Record<string, Endpoint>> = api
  const endpoint = groups[group]?.[action]
  if (!endpoint?.data) throw new Error(`the API has no ${name} with an answer`)
  const { success, data, ...others } = value as { success: unknown; data: unknown }
  if (success !== true || Object.keys(others).length > 0) throw new Error('is not an answer')
  const issues = endpoint.data.safeParse(data).error?.issues ?? []
  const wrong = issues.filter(({ path }) => valueAt(data, path) !== '…')
  if (wrong.length > 0) throw new Error(JSON.stringify(wrong))
  const shape = (endpoint.data as { shape?: object }).shape ?? {}
  const unknown = Object.keys(data as object).filter((key) => !(key in shape))
  if (unknown.length > 0) throw new Error(`${name} has no ${unknown} in its answer`)
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown>)?.[key], value)
}

function isEvent(value: { event: string; data: Record<string, unknown> }): void {
  const definition = EVENTS[value.event as EventKind]
  if (!definition) throw new Error(`there is no event ${value.event}`)
  decode(definition.data, value.data)
  const fields = Object.keys(definition.example).toSorted().join()
  const shown = Object.keys(value.data).toSorted().join()
  if (fields !== shown) throw new Error(`has ${shown}, and the event ${fields}`)
}

function isLogLine({ level, msg }: Record<string, unknown>): void {
  if (typeof level !== 'number' || typeof msg !== 'string') throw new Error('is not a log line')
}

const ROW = {
  accepted: ['line', 'message_id', 'to', 'type'],
  rejected: ['error', 'line', 'message', 'to', 'type'],
}

function isRowResult(line: Record<string, unknown>): void {
  const keys = Object.keys(line).toSorted()
  const expected = 'error' in line ? ROW.rejected : ROW.accepted
  if (line.type !== 'row' || keys.join() !== expected.join()) throw new Error(`has ${keys}`)
}

function isContent(channel: string, content: unknown): void {
  decode(api.messages.send.body, { channel, to: '+14155550100', content })
}

/** @throws Error with the number of the line in the block. */
function eachLine(code: string, check: (value: Record<string, unknown>) => void): void {
  for (const [i, line] of code.trimEnd().split('\n').entries()) {
    try {
      check(JSON.parse(line.replace(/\s+\/\/.*$/, '')))
    } catch (error) {
      throw new Error(`line ${i + 1}: ${(error as Error).message}`)
    }
  }
}

function isUsedByACommand({ words: [name = ''] }: Block, page: Page): void {
  const isUsed = page.blocks.some(({ language, code }) => language === 'sh' && code.includes(name))
  if (!isUsed) throw new Error(`no command of the page reads ${name}`)
}

/** Checks a line of a `name=value` file: settings of svc must exist, and commands of svc must be valid. */
function isSettingLine(line: string): void {
  if (/^(?:[#;].*|\[\w+\]|\s*)$/.test(line)) return
  const [, name = '', value = ''] = /^([\w-]+)\s*=\s*(.+)$/.exec(line) ?? []
  if (name === '') throw new Error(`is not a setting: ${line}`)
  for (const [, variable = ''] of line.matchAll(/\b(SVC_[A-Z_]+)=/g)) isVariable(variable)
  const [, call] = /^\S*\/svc (.+)$/.exec(value) ?? []
  if (/^Exec/.test(name) && call !== undefined) isCommand(call)
}

function isCronLine(line: string): void {
  const [, rest = ''] = /^(?:[\d*,/-]+ ){5}\w+ (.+)$/.exec(line) ?? []
  for (const [, variable = ''] of rest.matchAll(/\b(SVC_[A-Z_]+)=/g)) isVariable(variable)
  const [, call] = /(?:^|\s)svc (.+)$/.exec(rest) ?? []
  if (call === undefined) throw new Error(`is not a cron line that calls svc: ${line}`)
  isCommand(call)
}

export function isVariable(name: string): void {
  if (!SETTINGS.some(({ env }) => env === name)) throw new Error(`there is no setting ${name}`)
}

const COMMANDS = allCommands()

/** Whether `svc` has a command with these options. @throws Error that names the missing part. */
export function isCommand(call: string): void {
  const words = call.trim().split(/\s+/)
  const fitting = COMMANDS.filter(({ names }) => names.every((name, i) => words[i] === name))
  const found = fitting.toSorted((a, b) => a.names.length - b.names.length).at(-1)
  const next = words[found?.names.length ?? 0] ?? ''
  const isGroup = !found || found.command.commands.length > 0
  if (isGroup && /^[a-z]/.test(next)) throw new Error(`svc has no command ${call}`)
  const known = ['--help', '--json', '--config', '--version']
  for (let at = found?.command; at; at = at.parent ?? undefined) {
    for (const { long } of at.options) if (long) known.push(long)
  }
  for (const word of words) {
    const option = /^--[a-z-]+/.exec(word)?.[0]
    if (option && !known.includes(option)) throw new Error(`svc ${call} has no option ${option}`)
  }
}

function hidesNoCommand(code: string): void {
  const [command] =
    /^\s*(?:\$ |npx |npm |svc (?!top {2})|curl |podman |docker |apt-get |systemctl ).*/m.exec(
      code,
    ) ?? []
  if (command !== undefined) throw new Error(`a command in a text block: ${command.trim()}`)
}

/** Checks the frame of a flow chart; Mermaid itself needs a browser. */
function isFlowchart(code: string): void {
  const lines = code.trimEnd().split('\n')
  if (!/^flowchart (?:LR|TB)$/.test(lines[0] ?? '')) throw new Error('is not a flowchart')
  const starts = lines.filter((line) => /^\s*subgraph \w+/.test(line)).length
  if (lines.filter((line) => line.trim() === 'end').length !== starts) {
    throw new Error('has a subgraph without an end')
  }
  for (const line of lines.slice(1)) {
    const nodes = line
      .replaceAll(/\|[^|]*\|/g, '')
      .replaceAll(/\[\([^\])]*\)\]|\(\([^)]*\)\)|\[[^\]]*\]/g, '')
    const isFrame = /^\s*(?:subgraph \w+|direction (?:LR|TB)|end)$/.test(nodes)
    const isEdge = /^\s*\w+(?:(?: & | -->\s?| -\.->\s?)\w+)+$/.test(nodes)
    if (!isFrame && !isEdge) throw new Error(`is not an edge: ${line.trim()}`)
  }
}
