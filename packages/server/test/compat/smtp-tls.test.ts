import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { afterAll, afterEach, expect, it } from 'vitest'
import { CERTIFICATE, CERTIFICATE_KEY } from '../../../core/test/providers/smtp/send-certificate.ts'
import { readSetting } from '../../src/settings/readers.ts'
import { type InletStageOptions, openInletStage } from './inlet-stage.ts'
import { plainLogin, speak } from './smtp-client.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-inlet-'))
const files = { cert: join(folder, 'smtp.crt'), key: join(folder, 'smtp.key') }

afterAll(() => rmSync(folder, { recursive: true }))

let close: (() => Promise<void>) | null = null
afterEach(async () => {
  await close?.()
  close = null
})

async function open(host: string, implicit_tls: boolean, more: InletStageOptions = {}) {
  writeFileSync(files.cert, CERTIFICATE)
  writeFileSync(files.key, CERTIFICATE_KEY)
  const addresses = [{ host, port: 0, implicit_tls }]
  const stage = await openInletStage({ settings: { addresses, certificate: files }, ...more })
  close = stage.close
  const { key } = await stage.world.key(await stage.world.signup({ credits: 10 }))
  return { ...stage, key }
}

const mail = { from: 'shop@svc.example', to: 'asha@example.com', subject: 'Hi', text: 'Hello' }
const tls = { ca: CERTIFICATE }

it('takes a login only after STARTTLS on an address that other machines can reach: 538', async () => {
  const { key, port, mailer } = await open('0.0.0.0', false)
  const client = await speak(port)
  const greeting = await client.say('EHLO app.example\r\n', /^250 .*\r\n/m)
  expect(greeting).toContain('250-STARTTLS\r\n')
  for (const name of [
    'PIPELINING',
    '8BITMIME',
    'ENHANCEDSTATUSCODES',
    'SIZE',
    'AUTH PLAIN LOGIN',
  ]) {
    expect(greeting).toMatch(new RegExp(`^250[ -]${name}`, 'm'))
  }
  expect(await client.say(plainLogin(key))).toMatch(/^538 /)
  client.socket.destroy()
  const { response } = await mailer(key, { ignoreTLS: false, requireTLS: true, tls }).sendMail(mail)
  expect(response).toMatch(/^250 2\.6\.0 /)
})

it('drops commands that a client sends with STARTTLS before TLS', async () => {
  const { port } = await open('127.0.0.1', false)
  const client = await speak(port)
  await client.say('EHLO app.example\r\n')
  client.socket.setEncoding('latin1')
  const reply = await client.say('STARTTLS\r\nNOOP\r\nNOOP\r\n')
  expect(reply.match(/^\d{3}/gm)).toStrictEqual(['220'])
  client.socket.destroy()
})

it('speaks TLS from the first byte', async () => {
  const { key, mailer } = await open('0.0.0.0', true)
  const { response } = await mailer(key, { secure: true, ignoreTLS: false, tls }).sendMail(mail)
  expect(response).toMatch(/^250 2\.6\.0 /)
})

it('refuses TLS 1.1', async () => {
  const { port } = await open('127.0.0.1', true)
  const failed = await new Promise<boolean>((resolve) => {
    const socket = connectTls({ port, ...tls, minVersion: 'TLSv1', maxVersion: 'TLSv1.1' })
    socket.once('secureConnect', () => resolve(false)).once('error', () => resolve(true))
  })
  expect(failed).toBe(true)
})

it('keeps its certificate while new files are wrong, and logs it', async () => {
  const { key, mailer, world } = await open('127.0.0.1', true, { certificate_check_ms: 20 })
  writeFileSync(files.cert, 'wrong')
  await expect
    .poll(() => world.takeFaults().map(({ msg }) => msg))
    .toContain('the certificate of the SMTP inlet could not be read again')
  const { response } = await mailer(key, { secure: true, ignoreTLS: false, tls }).sendMail(mail)
  expect(response).toMatch(/^250 2\.6\.0 /)
  writeFileSync(files.cert, CERTIFICATE)
})

it('does not start without a certificate on an address that other machines can reach', async () => {
  const addresses = [{ host: '0.0.0.0', port: 0, implicit_tls: false }]
  await expect(openInletStage({ settings: { addresses } })).rejects.toThrow(
    /^SVC_SMTP_TLS_CERT and SVC_SMTP_TLS_KEY must be set/,
  )
})

it('reads its addresses', () => {
  const read = (text: string) => readSetting('SVC_SMTP_LISTEN', text)
  expect(read('off')).toStrictEqual([])
  expect(read('0.0.0.0:587,0.0.0.0:465,smtps://[::1]:2465,smtp://127.0.0.1:465')).toStrictEqual([
    { host: '0.0.0.0', port: 587, implicit_tls: false },
    { host: '0.0.0.0', port: 465, implicit_tls: true },
    { host: '::1', port: 2465, implicit_tls: true },
    { host: '127.0.0.1', port: 465, implicit_tls: false },
  ])
  expect(() => read('587')).toThrow('SVC_SMTP_LISTEN must be host:port')
})
