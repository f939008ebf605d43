import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Command } from 'commander'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type FoundCommand, leafCommands } from './commands-in.ts'
import { type Ended, newFolder, start } from './svc.ts'

const ID = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'

/** Those that go on until they are stopped where nothing is wrong with their database and address. */
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

/** The command with everything that it must be given: `text`, or where that is not said what could be meant. */
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

/** Runs a command in an empty folder; what lasts is stopped. */
async function tried(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  const here = newFolder()
  const running = start(argv, { env: { PORT: '0', ...CLOSED, ...env }, cwd: here.path })
  const patience = setTimeout(() => running.stop(), 3_000)
  const ended = await running.ended
  clearTimeout(patience)
  here.remove()
  return ended
}

/** One line that says what is wrong, and never where in the code. */
function expectOneLine({ code, stdout, stderr }: Ended, what: string): void {
  expect([1, 2, 3], `${what}: ${stderr}`).toContain(code)
  expect(stderr, what).toMatch(/^svc: [^\n]+\n$/)
  expect(`${stdout}${stderr}`, what).not.toMatch(/^ {4}at /m)
  expect(stderr, what).not.toMatch(/illegal operation|TypeError|undefined|\[object |ByteString/)
}

/** The same where it may also be that nothing is wrong. */
function expectNoStack(ended: Ended, what: string): void {
  if (ended.code !== 0) expectOneLine(ended, what)
  expect(`${ended.stdout}${ended.stderr}`, what).not.toMatch(/^ {4}at /m)
}

/** The ways to call a command that differ. */
function different(lines: readonly string[][]): string[][] {
  return [...new Map(lines.map((argv) => [argv.join('\n'), argv])).values()]
}

/** Each at the same time: they share nothing. */
async function expectAllNoStack(
  lines: readonly string[][],
  env: NodeJS.ProcessEnv = {},
): Promise<void> {
  await Promise.all(
    lines.map(async (argv) => expectNoStack(await tried(argv, env), argv.join(' '))),
  )
}

test.each(ENDING)('svc %s: nonsense in the place of every argument', async (_, found) => {
  const texts = ['\u2603', '', at('folder'), '-1e999']
  await expectAllNoStack(different(texts.map((text) => line(found, { text }))))
})

test.each(ENDING)('svc %s: nonsense in the place of every value of an option', async (_, found) => {
  const options = found.command.options.filter(({ required }) => required)
  const given = line(found, { file: at('garbage') })
  await expectAllNoStack(
    options.flatMap(({ long }) =>
      ['\u2603', at('folder')].map((text) => [...given, long ?? '', text]),
    ),
  )
})

/** Those that must be given a file. */
const OF_FILES = ENDING.filter(([, found]) => line(found, { file: 'x!' }).includes('x!'))

test('those that take files are found', () => {
  expect(OF_FILES.map(([name]) => name)).toEqual(
    expect.arrayContaining(['import', 'restore', 'bulk send', 'contacts import']),
  )
})

test.each(OF_FILES)('svc %s: files that are none', async (_, found) => {
  const names = ['nowhere', 'garbage', 'folder', 'loop', 'garbage/within']
  await expectAllNoStack(names.map((name) => line(found, { file: at(name) })))
})

/** Those of a server open no database. */
const OF_A_DATABASE = LEAVES.filter((leaf) => !OF_A_SERVER.includes(leaf))

const NO_DATABASES = [
  ...['garbage', 'folder', 'loop'].map((name) => `file:${at(name)}`),
  ...['postgres://127.0.0.1:9/x', 'postgres://', 'mysql://x', 'file:'],
]

test.each(OF_A_DATABASE)('svc %s: a database that is none', async (name, found) => {
  const expectation = LASTING.includes(name) ? expectOneLine : expectNoStack
  const argv = line(found, { file: at('garbage') })
  await Promise.all(
    NO_DATABASES.map(async (url) => expectation(await tried(argv, { SVC_DATABASE_URL: url }), url)),
  )
})

test.each(OF_A_SERVER)('svc %s: a server that is none', async (_, found) => {
  const argv = line(found, { file: at('garbage') })
  await Promise.all(
    ['nope', 'http://[', 'ftp://x', noHttp, noSvc, otherJson].map(async (url) =>
      expectOneLine(await tried(argv, { SVC_URL: url }), url),
    ),
  )
})

/** Those that read no settings. */
const WITHOUT_SETTINGS = /^(init|completion|segments|profiles .*)$/

test.each(LEAVES.filter(([name]) => !WITHOUT_SETTINGS.test(name)))(
  'svc %s: a configuration file that is none',
  async (_, found) => {
    const ended = await tried([...line(found, {}), '--config', at('garbage')], {})
    expect(ended.code).toBe(2)
    expectOneLine(ended, 'garbage')
  },
)

test.each(['nowhere', 'folder', 'loop', 'garbage/within'])(
  'a configuration file that is %s',
  async (name) => {
    const ended = await tried(['config', 'check', '--config', at(name)], {})
    expect(ended.code).toBe(2)
    expectOneLine(ended, name)
  },
)

test.each(ENDING)('svc %s: an option too many', async (_, found) => {
  const unknown = await tried([...line(found, {}), '--no-such-option'], {})
  expect(unknown.code).toBe(2)
  expectOneLine(unknown, 'option')
})
