import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Command } from 'commander'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type FoundCommand, leafCommands } from './commands-in.ts'
import { type Ended, newFolder, start, svc } from './svc.ts'

const ID = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'

/** Commands that run until they are stopped, with a valid database and address. */
const LASTING = ['dev', 'serve', 'top']

const LEAVES = leafCommands().map((found) => [found.names.join(' '), found] as const)
const OF_A_SERVER = LEAVES.filter(
  ([, { command }]) => has(command, '--url') && has(command, '--key'),
)
const ENDING = LEAVES.filter(([name]) => !LASTING.includes(name))

const folder = newFolder()
const servers: Server[] = []
const sockets = new Set<Socket>()
const at = (name: string) => join(folder.path, name)

function has(command: Command, option: string): boolean {
  return command.options.some(({ long }) => long === option)
}

function listening(server: Server): Promise<string> {
  servers.push(server)
  server.on('connection', (socket: Socket) => sockets.add(socket))
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () =>
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    ),
  )
}

let noHttp = ''
let noSvc = ''
let otherJson = ''

beforeAll(async () => {
  writeFileSync(at('garbage'), 'no such thing \u0000\u0001{[')
  mkdirSync(at('folder'))
  symlinkSync('loop', at('loop'))
  noHttp = await listening(
    createTcp((socket) => {
      socket.on('error', () => {})
      socket.end('220 mail.example ESMTP\r\n')
    }),
  )
  noSvc = await listening(createServer((_, response) => void response.end('<html>')))
  const json = '{"success":true,"data":{"at":"\u2603"}}'
  otherJson = await listening(createServer((_, response) => void response.end(json)))
})

afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  for (const server of servers) await new Promise((resolve) => server.close(resolve))
  folder.remove()
})

/** The command with all required arguments: `text`, or plausible values without it. */
function line({ names, command }: FoundCommand, { text, file }: { text?: string; file?: string }) {
  const value = (name: string) =>
    text ?? (/file|path/.test(name) && file ? file : /url/.test(name) ? 'http://127.0.0.1:9' : ID)
  return [
    ...names,
    ...command.registeredArguments
      .filter(({ required }) => required)
      .map(
        (argument) => (text === undefined && argument.argChoices?.[0]) || value(argument.name()),
      ),
    ...command.options
      .filter(({ mandatory }) => mandatory)
      .flatMap(({ long, flags }) => [long ?? '', value(flags)]),
    ...(has(command, '--yes') ? ['--yes'] : []),
  ]
}

const CLOSED = { SVC_API_KEY: 'svc_x', SVC_URL: 'http://127.0.0.1:9' }

/** Runs a command in an empty folder; stops it after three seconds. */
async function runIn(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  const here = newFolder()
  const running = start(argv, { env: { PORT: '0', ...CLOSED, ...env }, cwd: here.path })
  const timeout = setTimeout(() => running.stop(), 3_000)
  const ended = await running.ended
  clearTimeout(timeout)
  here.remove()
  return ended
}

/** Expects one line with the fault, and no stack. */
function expectOneLine({ code, stdout, stderr }: Ended, label: string): void {
  expect([1, 2, 3], `${label}: ${stderr}`).toContain(code)
  expect(stderr, label).toMatch(/^svc: [^\n]+\n$/)
  expect(`${stdout}${stderr}`, label).not.toMatch(/^ {4}at /m)
  expect(stderr, label).not.toMatch(/illegal operation|TypeError|undefined|\[object |ByteString/)
}

/** Expects the same, or a success. */
function expectNoStack(ended: Ended, label: string): void {
  if (ended.code !== 0) expectOneLine(ended, label)
  expect(`${ended.stdout}${ended.stderr}`, label).not.toMatch(/^ {4}at /m)
}

/** The distinct argument lists. */
function different(lines: readonly string[][]): string[][] {
  return [...new Map(lines.map((argv) => [argv.join('\n'), argv])).values()]
}

/** Runs all at the same time: they share nothing. */
async function expectAllNoStack(
  lines: readonly string[][],
  env: NodeJS.ProcessEnv = {},
): Promise<void> {
  await Promise.all(
    lines.map(async (argv) => expectNoStack(await runIn(argv, env), argv.join(' '))),
  )
}

test.each(ENDING)('svc %s: invalid values for all arguments', async (_, found) => {
  const texts = ['\u2603', '', at('folder'), '-1e999']
  await expectAllNoStack(different(texts.map((text) => line(found, { text }))))
})

test.each(ENDING)('svc %s: invalid values for all options', async (_, found) => {
  const options = found.command.options.filter(({ required }) => required)
  const base = line(found, { file: at('garbage') })
  await expectAllNoStack(
    options.flatMap(({ long }) =>
      ['\u2603', at('folder')].map((text) => [...base, long ?? '', text]),
    ),
  )
})

/** Commands with a required file. */
const OF_FILES = ENDING.filter(([, found]) => line(found, { file: 'x!' }).includes('x!'))

test('finds the commands with a required file', () => {
  expect(OF_FILES.map(([name]) => name)).toEqual(
    expect.arrayContaining(['import', 'restore', 'bulk send', 'contacts import']),
  )
})

test.each(OF_FILES)('svc %s: invalid files', async (_, found) => {
  const names = ['nowhere', 'garbage', 'folder', 'loop', 'garbage/within']
  await expectAllNoStack(names.map((name) => line(found, { file: at(name) })))
})

/** Commands that may open a database. */
const OF_A_DATABASE = LEAVES.filter((leaf) => !OF_A_SERVER.includes(leaf))

const NO_DATABASES = [
  ...['garbage', 'folder', 'loop'].map((name) => `file:${at(name)}`),
  ...['postgres://127.0.0.1:9/x', 'postgres://', 'mysql://x', 'file:'],
]

test.each(OF_A_DATABASE)('svc %s: invalid databases', async (name, found) => {
  const expectation = LASTING.includes(name) ? expectOneLine : expectNoStack
  const argv = line(found, { file: at('garbage') })
  await Promise.all(
    NO_DATABASES.map(async (url) => expectation(await runIn(argv, { SVC_DATABASE_URL: url }), url)),
  )
})

test.each(OF_A_SERVER)('svc %s: invalid servers', async (_, found) => {
  const argv = line(found, { file: at('garbage') })
  await Promise.all(
    ['nope', 'http://[', 'ftp://x', noHttp, noSvc, otherJson].map(async (url) =>
      expectOneLine(await runIn(argv, { SVC_URL: url }), url),
    ),
  )
})

/** Commands that read no settings. */
const WITHOUT_SETTINGS = /^(init|completion|segments|profiles .*)$/

test.each(LEAVES.filter(([name]) => !WITHOUT_SETTINGS.test(name)))(
  'svc %s: an invalid configuration file',
  async (_, found) => {
    const ended = await runIn([...line(found, {}), '--config', at('garbage')], {})
    expect(ended.code).toBe(2)
    expectOneLine(ended, 'garbage')
  },
)

test.each(['nowhere', 'folder', 'loop', 'garbage/within'])(
  'svc config check: a configuration file that is %s',
  async (name) => {
    const ended = await runIn(['config', 'check', '--config', at(name)], {})
    expect(ended.code).toBe(2)
    expectOneLine(ended, name)
  },
)

test.each(LEAVES.filter(([, { command }]) => command.options.some(({ mandatory }) => mandatory)))(
  'svc %s: an unknown option is reported before a missing one',
  async (_, found) => {
    const { code, stderr } = await svc([...found.names, '--no-such-option'], { cwd: folder.path })
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("unknown option '--no-such-option'"),
    })
  },
)

test.each(ENDING)('svc %s: an unknown option', async (_, found) => {
  const unknown = await runIn([...line(found, {}), '--no-such-option'], {})
  expect(unknown.code).toBe(2)
  expectOneLine(unknown, 'option')
})
