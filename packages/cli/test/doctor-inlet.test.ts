import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CERTIFICATE, CERTIFICATE_KEY } from '../../core/test/providers/smtp/send-certificate.ts'
import { openInletStage } from '../../server/test/compat/inlet-stage.ts'
import { checkInlet } from '../src/commands/doctor-checks.ts'

/** A certificate of `smtp.example.com` and `mail.example.com` that another key signed, only for tests. */
const SIGNED = `-----BEGIN CERTIFICATE-----
MIIBozCCAUigAwIBAgIUcZ4qV7+ZARfwNn2A5G1QJZRFANQwCgYIKoZIzj0EAwIw
EjEQMA4GA1UEAwwHVGVzdCBDQTAgFw0yNjExMjYxNTU1NTBaGA8yMTI2MTEwMjE1
NTU1MFowGzEZMBcGA1UEAwwQc210cC5leGFtcGxlLmNvbTBZMBMGByqGSM49AgEG
CCqGSM49AwEHA0IABDC2gssaPy9R8LjSnKZBJBLoD12g27ZXBPyCIinBDAuoJWtA
i291/cmlXLVMUuluiJUKeeL+QF/tTkR3g6QyN3qjcTBvMC0GA1UdEQQmMCSCEHNt
dHAuZXhhbXBsZS5jb22CEG1haWwuZXhhbXBsZS5jb20wHQYDVR0OBBYEFGHp3OFJ
TOCUJBX43dbb8NUfpTykMB8GA1UdIwQYMBaAFMC0v40W3zwifZy//xgyF9ey+cIi
MAoGCCqGSM49BAMCA0kAMEYCIQDSxc51t/xTGDgx62cwQ181QpPFGUVxx+8bkNmP
yGoFoAIhANvtw9K029VkAlihc8FdMBAQ3Ybsiba59Nr51jMmBNDZ
-----END CERTIFICATE-----
`
const SIGNED_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgSNq9j1o9q9hZGdWx
ExbrKHWwp3ldtzRtPRrZYF/2lXWhRANCAAQwtoLLGj8vUfC40pymQSQS6A9doNu2
VwT8giIpwQwLqCVrQItvdf3JpVy1TFLpboiVCnni/kBf7U5Ed4OkMjd6
-----END PRIVATE KEY-----
`

const folder = mkdtempSync(join(tmpdir(), 'svc-doctor-'))
const files = { cert: join(folder, 'smtp.crt'), key: join(folder, 'smtp.key') }
let stage: Awaited<ReturnType<typeof openInletStage>>

beforeAll(async () => {
  write(CERTIFICATE, CERTIFICATE_KEY)
  const addresses = [false, true].map((implicit_tls) => ({
    host: '127.0.0.1',
    port: 0,
    implicit_tls,
  }))
  stage = await openInletStage({ settings: { addresses, certificate: files } })
})
afterAll(async () => {
  await stage.close()
  rmSync(folder, { recursive: true })
})

function write(cert: string, key: string): void {
  writeFileSync(files.cert, cert)
  writeFileSync(files.key, key)
}

async function find({
  smtp_listen = [...stage.inlet.addresses],
  now = new Date('2030-01-01'),
  ...more
}: Partial<Parameters<typeof checkInlet>[0]> & { now?: Date } = {}): Promise<string[]> {
  const config = {
    smtp_listen,
    smtp_tls_cert: files.cert,
    smtp_tls_key: files.key,
    smtp_sms_domain: null,
    providers: [],
    ...more,
  }
  const found = await checkInlet(config, { now })
  return found.map(({ level, message }) => `${level}: ${message}`)
}

test('reports nothing without an inlet', async () => {
  expect(await find({ smtp_listen: [] })).toStrictEqual([])
})

test('finds each address, and warns of a self-signed certificate', async () => {
  write(CERTIFICATE, CERTIFICATE_KEY)
  const [plain, secure] = stage.inlet.addresses.map(({ port }) => port)
  expect(await find()).toStrictEqual([
    'ok: the certificate for localhost, 127.0.0.1 is valid until 2126-10-28',
    'warning: the certificate for localhost, 127.0.0.1 is self-signed: clients that verify certificates refuse it',
    `ok: answers at smtp://127.0.0.1:${plain}`,
    `ok: answers at smtps://127.0.0.1:${secure}`,
  ])
})

test.each([
  ['2126-10-20', 'warning: the certificate for localhost, 127.0.0.1 expires in 8 days'],
  ['2126-10-30', 'error: the certificate for localhost, 127.0.0.1 expired on 2126-10-28'],
  ['2026-01-01', 'error: the certificate for localhost, 127.0.0.1 is not valid before 2026-11-21'],
])('compares the dates of the certificate with %s', async (date, message) => {
  write(CERTIFICATE, CERTIFICATE_KEY)
  expect((await find({ now: new Date(date) }))[0]).toBe(message)
})

test('warns when the server has another certificate than the files', async () => {
  write(SIGNED, SIGNED_KEY)
  const found = await find()
  expect(found[0]).toMatch(/^ok: the certificate for smtp\.example\.com, mail\.example\.com /)
  expect(found.slice(1)).toStrictEqual(
    stage.inlet.addresses.map(
      ({ port, implicit_tls }) =>
        `warning: ${implicit_tls ? 'smtps' : 'smtp'}://127.0.0.1:${port} serves another certificate than SVC_SMTP_TLS_CERT`,
    ),
  )
})

test('reports files that are no certificate and its key, and missing ones', async () => {
  write(SIGNED, CERTIFICATE_KEY)
  expect(await find()).toStrictEqual([
    expect.stringMatching(
      /^error: SVC_SMTP_TLS_CERT, SVC_SMTP_TLS_KEY: .* are not a certificate and its key/,
    ),
  ])
  expect(await find({ smtp_tls_cert: join(folder, 'none.crt') })).toStrictEqual([
    expect.stringMatching(/^error: SVC_SMTP_TLS_CERT: ENOENT/),
  ])
  const open = { smtp_listen: [{ host: '0.0.0.0', port: 1, implicit_tls: false }] }
  expect(await find({ ...open, smtp_tls_cert: null, smtp_tls_key: null })).toStrictEqual([
    'error: SVC_SMTP_TLS_CERT and SVC_SMTP_TLS_KEY must be set: clients of 0.0.0.0:1 send API keys',
  ])
})

test('warns when nothing listens, and reports another program', async () => {
  write(SIGNED, SIGNED_KEY)
  const other: Server = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  const port = await new Promise<number>((resolve) => {
    other.listen(0, '127.0.0.1', () => resolve((other.address() as { port: number }).port))
  })
  const address = { host: '0.0.0.0', port, implicit_tls: false }
  expect((await find({ smtp_listen: [address] }))[1]).toMatch(
    new RegExp(`^error: smtp://127\\.0\\.0\\.1:${port} does not answer as an SMTP inlet`),
  )
  await new Promise((resolve) => other.close(resolve))
  expect((await find({ smtp_listen: [address] }))[1]).toBe(
    `warning: no SMTP inlet answers at smtp://127.0.0.1:${port}`,
  )
})
