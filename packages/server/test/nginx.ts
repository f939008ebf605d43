import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** The shipped configuration. */
export const SHIPPED = fileURLToPath(new URL('../../../deploy/nginx/svc.conf', import.meta.url))

/** The reason why nginx cannot be tested; null if it can. */
export const nginxMissing: string | null = ['nginx', 'openssl'].some(
  (program) => spawnSync(program, ['-v']).error,
)
  ? 'nginx or openssl is not installed (.ci/debian-peers)'
  : null

/** nginx with the shipped configuration, except addresses, name and certificate. */
export interface Nginx {
  url: string
  /** The port of plain http. */
  plain_url: string
  /** The certificate. */
  ca: string
  /** The text of its log. */
  logged(): string
  stop(): Promise<void>
}

/** nginx in front of all these servers. */
export async function startNginx(...server_urls: string[]): Promise<Nginx> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-nginx-'))
  const [plain, tls] = [await freePort(), await freePort()]
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost'],
      ...['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'],
      ...['-keyout', join(folder, 'privkey.pem'), '-out', join(folder, 'fullchain.pem')],
    ],
    { stdio: 'ignore' },
  )
  const site = readFileSync(SHIPPED, 'utf8')
    .replaceAll(/^.*listen \[::\].*\n/gm, '')
    .replace('listen 80;', `listen 127.0.0.1:${plain};`)
    .replace('listen 443 ', `listen 127.0.0.1:${tls} `)
    .replaceAll('svc.example.com', 'localhost')
    .replaceAll('/etc/ssl/svc', folder)
    .replaceAll('/var/log/nginx', folder)
    .replace(/^( *)server 127\.0\.0\.1:3000(.*)$/m, (_, indent, rest) =>
      server_urls.map((url) => `${indent}server ${new URL(url).host}${rest}`).join('\n'),
    )
  writeFileSync(join(folder, 'svc.conf'), site)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${join(folder, name)};`)
    .join('\n')
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; master_process off; pid ${join(folder, 'pid')}; error_log ${join(folder, 'error.log')};
     events {} http { access_log off; ${temporary} include ${join(folder, 'svc.conf')}; }`,
  )
  const child = spawn('nginx', ['-c', join(folder, 'nginx.conf'), '-p', folder], {
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  const ended = once(child, 'exit')
  const url = `https://127.0.0.1:${tls}`
  await untilListening(tls, () => child.exitCode !== null, join(folder, 'error.log'))
  return {
    url,
    plain_url: `http://127.0.0.1:${plain}`,
    ca: readFileSync(join(folder, 'fullchain.pem'), 'utf8'),
    logged: () =>
      ['access.log', 'error.log'].map((name) => readFileSync(join(folder, name), 'utf8')).join(''),
    async stop() {
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function untilListening(port: number, hasEnded: () => boolean, log: string): Promise<void> {
  const { connect } = await import('node:net')
  for (let n = 0; n < 500; n++) {
    if (hasEnded()) throw new Error(`nginx ended: ${readFileSync(log, 'utf8')}`)
    const socket = connect(port, '127.0.0.1')
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    })
    socket.destroy()
    if (isOpen) return
    await pause(20)
  }
  throw new Error('nginx does not listen')
}
