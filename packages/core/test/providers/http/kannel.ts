import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const BEARERBOX = '/usr/sbin/bearerbox'
const SMSBOX = '/usr/sbin/smsbox'
const FAKE_SMSC = '/usr/lib/kannel/test/fakesmsc'

/** Whether Kannel and its test SMSC are installed: Debian's packages kannel and kannel-extras. */
export const HAS_KANNEL = [BEARERBOX, SMSBOX, FAKE_SMSC].every((file) => existsSync(file))

export interface Kannel {
  /** The URL of its `sendsms` service. */
  url: string
  /** The messages of its SMSC, as it prints them: sender, recipient, kind and text. */
  got(): string[]
  close(): Promise<void>
}

/**
 * A real Kannel with a fake SMSC that accepts every message and reports its delivery. At the start the SMSC sends the text
 * "4711 5678 text Good day", which Kannel forwards to `inbound_url`.
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
    await printed(run(BEARERBOX, ['-v', '0', file]), 'Start-up done')
    await printed(run(SMSBOX, ['-v', '0', file]), 'Connected to bearerbox')
    const text = '4711 5678 text Good day'
    const fake = run(FAKE_SMSC, ['-H', '127.0.0.1', '-r', String(smsc), '-m', '1', text])
    let output = ''
    fake.stderr?.on('data', (chunk) => {
      output += chunk
    })
    await printed(fake, 'sent message 1')
    return {
      url: `http://127.0.0.1:${sendsms}/cgi-bin/sendsms`,
      got: () =>
        [...output.matchAll(/Got message \d+: <(.*)>/g)].map(([, message = '']) => message),
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

/** Resolves once the process has printed this text; rejects if it ends before. */
function printed(child: ChildProcess, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = ''
    child.stderr?.on('data', (chunk) => {
      output += chunk
      if (output.includes(text)) resolve()
    })
    child.once('error', reject)
    child.once('exit', () =>
      reject(new Error(`ended before it printed "${text}": ${output.slice(-999)}`)),
    )
  })
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once('exit', () => resolve())
    // It has no state to save, and reacts slowly to any other signal.
    child.kill('SIGKILL')
  })
}

/** Ports that were free just now, for programs that cannot listen on port 0. */
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
