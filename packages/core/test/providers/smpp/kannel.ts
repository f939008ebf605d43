import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const BEARERBOX = '/usr/sbin/bearerbox'
const SMSBOX = '/usr/sbin/smsbox'

/** Debian's packages kannel and kannel-extras. */
export const isKannelInstalled = existsSync(BEARERBOX) && existsSync(SMSBOX)

const ACCOUNT = { username: 'tester', password: 'testing' }

const ADMIN_PASSWORD = 'admin'

const LINES_MAX = 100

const START_MS = 20_000
const END_MS = 5_000

export interface KannelOptions {
  /** The port of the SMSC on this machine. */
  smsc_port: number
  system_id?: string
  password?: string
  /** The address that Kannel calls for an incoming text, with Kannel's escapes such as `%p`. */
  mo_url?: string
  /** The most unanswered submit_sm; default: Kannel's 10. */
  window?: number
}

/** A request of `sendsms`; every field as Kannel's user guide names it. */
export type SendSms = Record<string, string>

/** One of Kannel's processes, and its first lines. */
interface Box {
  child: ChildProcess
  lines: string[]
}

export type Kannel = Awaited<ReturnType<typeof startKannel>>

/** Starts a Kannel gateway (bearerbox and smsbox) in a new folder, bound to an SMSC as a transceiver. */
export async function startKannel(options: KannelOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-kannel-'))
  const [admin, box, sendsms] = (await freePorts(3)) as [number, number, number]
  const file = join(folder, 'kannel.conf')
  writeFileSync(file, configuration(options, { admin, box, sendsms }))
  const boxes: Box[] = []
  const end = async () => {
    for (const { child } of boxes.toReversed()) await ended(child)
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const status = `http://127.0.0.1:${admin}/status.txt?password=${ADMIN_PASSWORD}`
    const bearerbox = start(BEARERBOX, file, folder)
    boxes.push(bearerbox)
    await answering(status, 'Kannel bearerbox', bearerbox)
    const smsbox = start(SMSBOX, file, folder)
    boxes.push(smsbox)
    await answering(status, 'smsbox:', smsbox)
    await answering(`http://127.0.0.1:${sendsms}/`, '', smsbox)
  } catch (error) {
    await end()
    throw error
  }
  const url = `http://127.0.0.1:${sendsms}`
  return {
    /** The address of `sendsms`. */
    url,
    pids: boxes.map(({ child }) => child.pid as number),
    path: (fields: SendSms) =>
      `/cgi-bin/sendsms?${new URLSearchParams({ ...ACCOUNT, ...fields }).toString()}`,
    /** Sends a message. @throws Error if Kannel does not accept it. */
    async send(fields: SendSms): Promise<void> {
      const query = new URLSearchParams({ ...ACCOUNT, ...fields })
      const response = await fetch(`${url}/cgi-bin/sendsms?${query}`)
      const text = await response.text()
      if (response.status !== 202) throw new Error(`Kannel answered ${response.status}: ${text}`)
    },
    close: end,
  }
}

function configuration(
  { smsc_port, system_id = 'svc', password = 'secret', mo_url, window }: KannelOptions,
  ports: { admin: number; box: number; sendsms: number },
): string {
  const groups: [string, ...(readonly [string, string | number])[]][] = [
    [
      'core',
      ['admin-port', ports.admin],
      ['admin-interface', '127.0.0.1'],
      ['admin-password', ADMIN_PASSWORD],
      ['smsbox-port', ports.box],
      ['smsbox-interface', '127.0.0.1'],
      ['box-allow-ip', '127.0.0.1'],
      ['dlr-storage', 'internal'],
      // The default after a temporary refusal is a minute.
      ['sms-resend-freq', 1],
    ],
    [
      'smsc',
      ['smsc', 'smpp'],
      ['smsc-id', 'test'],
      ['host', '127.0.0.1'],
      ['port', smsc_port],
      ['transceiver-mode', 'true'],
      ['smsc-username', system_id],
      ['smsc-password', password],
      ['system-type', ''],
      ['interface-version', 34],
      ...(window ? [['max-pending-submits', window] as const] : []),
    ],
    [
      'smsbox',
      ['bearerbox-host', '127.0.0.1'],
      ['sendsms-port', ports.sendsms],
      ['sendsms-interface', '127.0.0.1'],
    ],
    [
      'sendsms-user',
      ['username', ACCOUNT.username],
      ['password', ACCOUNT.password],
      ['max-messages', 30],
      ['concatenation', 'true'],
    ],
    ...(mo_url
      ? [
          [
            'sms-service',
            ['keyword', 'default'],
            ['get-url', mo_url],
            ['max-messages', 0],
          ] satisfies [string, ...(readonly [string, string | number])[]],
        ]
      : []),
  ]
  return groups
    .map(([group, ...lines]) =>
      [`group = ${group}`, ...lines.map(([key, value]) => `${key} = "${value}"`), ''].join('\n'),
    )
    .join('\n')
}

/** Prints only warnings: a line for each message would be slow. */
function start(program: string, file: string, folder: string): Box {
  const child = spawn(program, ['-v', '2', file], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const lines: string[] = []
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (lines.length < LINES_MAX) lines.push(line)
  })
  child.on('error', ({ message }) => lines.push(message))
  return { child, lines }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), END_MS)
  await gone
  clearTimeout(timer)
}

/** Resolves when the answer of this address contains `sign`. */
async function answering(url: string, sign: string, { child, lines }: Box): Promise<void> {
  const until = Date.now() + START_MS
  for (;;) {
    const text = await fetch(url).then(
      (response) => response.text(),
      () => null,
    )
    if (text?.includes(sign)) return
    if (child.exitCode !== null || Date.now() > until) {
      throw new Error(`Kannel did not start:\n${lines.join('\n')}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Kannel does not support port 0. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => (server.address() as { port: number }).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}
