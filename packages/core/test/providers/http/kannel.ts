import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const BEARERBOX = '/usr/sbin/bearerbox'
const SMSBOX = '/usr/sbin/smsbox'
const FAKE_SMSC = '/usr/lib/kannel/test/fakesmsc'

/** Whether Kannel and its test peer are on this machine: Debian's packages kannel and kannel-extras. */
export const HAS_KANNEL = [BEARERBOX, SMSBOX, FAKE_SMSC].every((file) => existsSync(file))

export interface Kannel {
  /** Of its `sendsms` service. */
  url: string
  /** What its SMSC got: sender, recipient, kind and text of each, as it prints them. */
  got(): string[]
  close(): Promise<void>
}

/**
 * Kannel itself, with a fake SMSC behind it that takes what comes and reports it delivered. At its start a text comes in:
 * "4711 5678 text Good day", which Kannel passes on to `inbound_url`.
 */
export async function openKannel(inbound_url: string): Promise<Kannel> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-kannel-'))
  const [admin = 0, boxes = 0, smsc = 0, sendsms = 0] = await freePorts(4)
  const file = join(folder, 'kannel.conf')
  writeFileSync(file, configuration({ admin, boxes, smsc, sendsms, inbound_url }))
  const children: ChildProcess[] = []
  const run = (command: string, args: string[]) => {
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'], cwd: folder })
    children.push(child)
    return child
  }
  const close = async () => {
    await Promise.all(children.map(ended))
    rmSync(folder, { recursive: true })
  }
  try {
    await saying(run(BEARERBOX, ['-v', '0', file]), 'Start-up done')
    await saying(run(SMSBOX, ['-v', '0', file]), 'Connected to bearerbox')
    const text = '4711 5678 text Good day'
    const fake = run(FAKE_SMSC, ['-H', '127.0.0.1', '-r', String(smsc), '-m', '1', text])
    let said = ''
    fake.stderr?.on('data', (chunk) => {
      said += chunk
    })
    await saying(fake, 'sent message 1')
    return {
      url: `http://127.0.0.1:${sendsms}/cgi-bin/sendsms`,
      got: () => [...said.matchAll(/Got message \d+: <(.*)>/g)].map(([, what = '']) => what),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

function configuration(at: {
  admin: number
  boxes: number
  smsc: number
  sendsms: number
  inbound_url: string
}): string {
  return `
group = core
admin-port = ${at.admin}
admin-password = unused
smsbox-port = ${at.boxes}
smsbox-interface = 127.0.0.1
box-allow-ip = 127.0.0.1
box-deny-ip = "*.*.*.*"
dlr-storage = internal

group = smsc
smsc = fake
smsc-id = fake
port = ${at.smsc}
connect-allow-ip = 127.0.0.1

group = smsbox
bearerbox-host = 127.0.0.1
sendsms-port = ${at.sendsms}
sendsms-interface = 127.0.0.1

group = sendsms-user
username = svc
password = canary-password
max-messages = 30
concatenation = true

group = sms-service
keyword = default
get-url = "${at.inbound_url}"
max-messages = 0
catch-all = yes
`
}

/** Resolves once the process has said so; rejects where it ends before. */
function saying(child: ChildProcess, what: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = ''
    child.stderr?.on('data', (chunk) => {
      said += chunk
      if (said.includes(what)) resolve()
    })
    child.once('error', reject)
    child.once('exit', () =>
      reject(new Error(`ended before it said "${what}": ${said.slice(-999)}`)),
    )
  })
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once('exit', () => resolve())
    // It has nothing to keep, and takes its time with any other signal.
    child.kill('SIGKILL')
  })
}

/** Ports that were free just now: a program that cannot be told 0 needs numbers. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer())
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((resolve) => {
          server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
        }),
    ),
  )
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}
