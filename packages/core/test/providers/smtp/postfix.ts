import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

const POSTFIX = '/usr/sbin/postfix'
const START_MAX_MS = 15_000

/** Why Postfix cannot run here; null if it can. Debian's package is `postfix`. */
export const postfixMissing: string | null = missing()

function missing(): string | null {
  if (!existsSync(POSTFIX)) return 'Postfix is not installed'
  return process.getuid?.() === 0 ? null : 'Postfix needs root'
}

export interface Postfix {
  port: number
  log(): string
  stop(): Promise<void>
}

/**
 * Runs a Postfix in a new folder, only on loopback. It relays all mail to `relay_port`, except mail to `bounce_domain`, which
 * goes to `bounce_port`. It reports a mail to its sender that waits for a second.
 */
export async function startPostfix(to: {
  relay_port: number
  bounce_domain: string
  bounce_port: number
  /** How long it retries a mail, and also a report. */
  gives_up_after_s: number
  /** The login, `user:password`, at `relay_port`, which then needs TLS. No report of a delay is sent then. */
  relay_login?: string
}): Promise<Postfix> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-postfix-'))
  const port = await freePort()
  const log = join(folder, 'log')
  const config = join(folder, 'config')
  for (const name of ['config', 'queue', 'data']) mkdirSync(join(folder, name), { mode: 0o755 })
  // The user of its daemons needs access.
  await run('chmod', ['755', folder])
  await run('chown', ['postfix', join(folder, 'data')])
  writeFileSync(join(config, 'main.cf'), mainCf({ folder, log, ...to }))
  writeFileSync(join(config, 'master.cf'), masterCf(port))
  const master = spawn(POSTFIX, ['-c', config, 'start-fg'], {
    stdio: 'ignore',
  })
  const ended = once(master, 'exit')
  await isUp(port, ended)
  return {
    port,
    log: () => readFileSync(log, 'utf8'),
    async stop() {
      await run(POSTFIX, ['-c', config, 'stop']).catch(() => master.kill('SIGKILL'))
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function mainCf({
  folder,
  log,
  relay_port,
  bounce_domain,
  bounce_port,
  gives_up_after_s,
  relay_login,
}: Parameters<typeof startPostfix>[0] & { folder: string; log: string }): string {
  return `compatibility_level = 3.6
queue_directory = ${folder}/queue
data_directory = ${folder}/data
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
meta_directory = /etc/postfix
shlib_directory = /usr/lib/postfix
mail_owner = postfix
setgid_group = postdrop
maillog_file = ${log}
maillog_file_prefixes = ${folder}
myhostname = relay.example.test
mydestination =
alias_maps =
local_recipient_maps =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
smtpd_relay_restrictions = permit_mynetworks, reject
disable_dns_lookups = yes
${relay_login === undefined ? 'smtp_tls_security_level = none' : loginLines(relay_port, relay_login)}
default_transport = smtp:[127.0.0.1]:${relay_port}
transport_maps = inline:{ ${bounce_domain}=smtp:[127.0.0.1]:${bounce_port} }
maximal_queue_lifetime = ${gives_up_after_s}s
bounce_queue_lifetime = ${gives_up_after_s}s
delay_warning_time = ${relay_login === undefined ? 1 : 0}s
minimal_backoff_time = 1s
maximal_backoff_time = 1s
queue_run_delay = 1s
`
}

/** Its certificate is not verified, because it is self-signed. */
function loginLines(port: number, login: string): string {
  return `smtp_tls_security_level = encrypt
smtp_sasl_auth_enable = yes
smtp_sasl_password_maps = inline:{ {[127.0.0.1]:${port} = ${login}} }
smtp_sasl_security_options = noanonymous`
}

/** Debian's file without unused services, and without a chroot. */
function masterCf(port: number): string {
  return `127.0.0.1:${port} inet n - n - - smtpd
postlog unix-dgram n - n - 1 postlogd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 1 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
smtp unix - - n - - smtp
tlsmgr unix - - n 1000? 1 tlsmgr
error unix - - n - - error
retry unix - - n - - error
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
`
}

/** Postfix does not support port 0. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Resolves at its greeting. @throws Error if it ended, or takes too long. */
async function isUp(port: number, ended: Promise<unknown>): Promise<void> {
  const until = performance.now() + START_MAX_MS
  let failed = false
  void ended.then(() => {
    failed = true
  })
  while (!(await greets(port))) {
    if (failed) throw new Error('Postfix ended as soon as it was started')
    if (performance.now() > until) throw new Error('Postfix does not greet')
  }
}

async function greets(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    const [greeting] = (await once(socket, 'data')) as [Buffer]
    return greeting.toString().startsWith('220 ')
  } catch {
    // A retry at once would keep it busy.
    await pause(50)
    return false
  } finally {
    socket.destroy()
  }
}
