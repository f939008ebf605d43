import { createPublicKey, randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { KeyIdentity } from '../../src/api-keys/api-keys.ts'
import { units } from '../../src/contract/fields/units.ts'
import type { Domain } from '../../src/contract/resources/domains.ts'
import { type Core, createCore } from '../../src/core.ts'
import type { CoreOptions } from '../../src/core-options.ts'
import type { Dispatcher } from '../../src/dispatch/dispatcher.ts'
import { ENGINES, type Engine } from '../erasing/engines.ts'
import { type TestRuntime, testRuntime } from '../fixtures.ts'
import { verifyDkim } from '../providers/smtp/send-dkim-verifier.ts'
import { type SmtpSink, startSmtpSink } from '../providers/smtp/sink.ts'
import type { Opened } from '../storage/bench.ts'
import { startTxtServer } from './txt-server.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const SECRETS_KEY = randomBytes(32).toString('base64')

describe.each(ENGINES)('sending domains on %s', (name, make) => {
  let engine: Engine
  let opened: Opened
  let core: Core
  let runtime: TestRuntime
  let dispatcher: Dispatcher
  let dns: Awaited<ReturnType<typeof startTxtServer>>
  let sink: SmtpSink
  let lines: string[]

  beforeEach(async () => {
    engine = make()
    opened = await engine.open()
    dns = await startTxtServer()
    sink = await startSmtpSink()
    lines = []
    const note = (...values: unknown[]) => void lines.push(JSON.stringify(values))
    const log = { debug: note, info: note, warn: note, error: note }
    runtime = { ...testRuntime(`domains ${name}`), log }
    core = await createCore(options())
    dispatcher = await core.startDispatch()
  })
  afterEach(async () => {
    await core.close()
    await sink.close()
    await dns.close()
    await opened.close()
  })

  function options(): CoreOptions {
    return {
      database_url: engine.url(),
      runtime,
      threads: 0,
      secrets_keys: [SECRETS_KEY],
      domains_dns: [dns.address],
      quotas: { domains: 3 },
      providers: [{ type: 'smtp', name: 'smtp', url: sink.url, mail_domain: 'mail.svc.example' }],
    }
  }

  let workspaces = 0
  async function workspace(): Promise<KeyIdentity> {
    workspaces += 1
    const { id } = await core.workspaces.create({
      email: `ops${workspaces}@example.com`,
      password: 'correct horse battery',
      company_name: 'Acme',
      phone: '+14155550100',
      country: 'US',
    })
    await core.credits.grant(id, { amount: units(100_000_000), actor: 'test' })
    const key = await core.apiKeys.create(id, { name: 'key' })
    return core.apiKeys.authenticate(key.key, '127.0.0.1')
  }

  const recordOf = ({ records }: Domain, purpose: string) => {
    const found = records.find((record) => record.purpose === purpose)
    if (!found) throw new Error(`there is no record ${purpose}`)
    return found
  }
  const publish = (domain: Domain, purpose = 'dkim') => {
    const record = recordOf(domain, purpose)
    dns.records.set(record.name, [record.value])
    return record
  }
  async function verify({ workspace_id }: KeyIdentity, { id }: Domain): Promise<Domain> {
    runtime.advance(10_000)
    return core.domains.verify(workspace_id, id)
  }
  async function verified(owner: KeyIdentity, domain = 'acme.example'): Promise<Domain> {
    const added = await core.domains.create(owner.workspace_id, { domain })
    publish(added)
    return verify(owner, added)
  }
  const mailFrom = (owner: KeyIdentity, from_address: string) =>
    core.messages.send(owner, {
      channel: 'email',
      to: 'asha@rcpt.example',
      from: 'Acme Shop',
      content: { subject: 'Hello', text: 'Hello', from_address },
    })
  async function sweepAfter(ms: number): Promise<void> {
    runtime.advance(ms)
    await dispatcher.sweep()
  }

  it('are verified by the record of their key', async () => {
    const owner = await workspace()
    const added = await core.domains.create(owner.workspace_id, { domain: 'Acme.example.' })
    expect(added).toMatchObject({ domain: 'acme.example', status: 'pending' })
    expect(recordOf(added, 'dkim')).toMatchObject({ state: 'pending', is_required: true })
    expect(await verify(owner, added)).toMatchObject({
      status: 'pending',
      records: [{ state: 'missing' }, { purpose: 'dmarc', state: 'missing' }],
    })
    const { name: at } = recordOf(added, 'dkim')
    dns.records.set(at, ['v=DKIM1; p=MIIB\u0007'])
    const wrong = recordOf(await verify(owner, added), 'dkim')
    expect(wrong).toMatchObject({ state: 'mismatch', found: 'v=DKIM1; p=MIIB?' })
    const { value } = publish(added)
    // Registrars break and space long texts.
    dns.records.set(at, [value.replace('p=', 'p= ').replace(/(.{90})/, '$1 ')])
    dns.records.set('_dmarc.acme.example', ['v=DMARC1; p=reject'])
    expect(await verify(owner, added)).toMatchObject({
      status: 'verified',
      check_error: null,
      records: [{ state: 'verified' }, { state: 'verified' }],
    })
    const entries = await core.audit.list(owner.workspace_id, {})
    expect(entries.audit_entries.map(({ action }) => action)).toEqual(
      expect.arrayContaining(['domain.added', 'domain.verified']),
    )
  })

  it('keep their states while name servers do not answer', async () => {
    const owner = await workspace()
    const domain = await verified(owner)
    dns.records.set(recordOf(domain, 'dkim').name, 'refused')
    const unanswered = await verify(owner, domain)
    expect(unanswered).toMatchObject({ status: 'verified', checked_at: domain.checked_at })
    expect(unanswered.check_error).toMatch(/^No name server/)
  })

  it('limits the checks of a domain, the number of domains, and hostile names', async () => {
    const { workspace_id } = await workspace()
    const first = await core.domains.create(workspace_id, { domain: 'bücher.example' })
    expect(first.domain).toBe('xn--bcher-kva.example')
    await core.domains.verify(workspace_id, first.id)
    await expect(core.domains.verify(workspace_id, first.id)).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
      retry_after_s: 10,
    })
    for (const domain of [
      'co.uk',
      'localhost',
      'a.local',
      '10.0.0.1',
      'a..b',
      'a b.example',
      'x',
    ]) {
      await expect(core.domains.create(workspace_id, { domain })).rejects.toMatchObject({
        code: 'validation_error',
      })
    }
    await expect(
      core.domains.create(workspace_id, { domain: 'XN--BCHER-KVA.example' }),
    ).rejects.toThrow('already a domain')
    await core.domains.create(workspace_id, { domain: 'b.example' })
    await core.domains.create(workspace_id, { domain: 'c.example' })
    await expect(core.domains.create(workspace_id, { domain: 'd.example' })).rejects.toThrow(
      'at most 3 sending domains',
    )
  })

  it('belong to one workspace, and are not found by another', async () => {
    const [owner, other] = [await workspace(), await workspace()]
    const domain = await verified(owner)
    const same = await core.domains.create(other.workspace_id, { domain: 'acme.example' })
    publish(same)
    await expect(verify(other, same)).rejects.toThrow('Another workspace verified acme.example')
    for (const call of ['get', 'verify', 'rotate', 'delete'] as const) {
      await expect(core.domains[call](other.workspace_id, domain.id)).rejects.toMatchObject({
        code: 'not_found',
      })
    }
    await core.domains.delete(owner.workspace_id, domain.id)
    expect(await verify(other, same)).toMatchObject({ status: 'verified' })
  })

  it('sign mails with their key, which no log has', async () => {
    const owner = await workspace()
    await expect(mailFrom(owner, 'shop@acme.example')).rejects.toMatchObject({
      code: 'validation_error',
      details: [{ path: 'content.from_address' }],
    })
    const domain = await verified(owner)
    await expect(mailFrom(owner, 'shop@sub.acme.example')).rejects.toThrow('sub.acme.example')
    const { data } = await mailFrom(owner, 'shop@ACME.example')
    await dispatcher.idle()
    expect(await core.messages.get(owner, data.message_id)).toMatchObject({ error_code: null })
    const mail = sink.mails.at(-1)
    expect(mail?.raw).toMatch(/^From: Acme Shop <shop@acme\.example>\r$/m)
    expect(mail?.from.address).toMatch(/@mail\.svc\.example$/)
    const { value } = recordOf(domain, 'dkim')
    const der = Buffer.from(value.slice(value.indexOf('p=') + 2), 'base64')
    const key = createPublicKey({ key: der, format: 'der', type: 'spki' })
    const pem = key.export({ format: 'pem', type: 'spki' }).toString()
    expect(verifyDkim(mail?.raw ?? '', pem)).toMatchObject({
      holds: true,
      domain: 'acme.example',
    })
    expect(lines.join('\n')).not.toMatch(/PRIVATE KEY|private_key/)
    expect(JSON.stringify(domain)).not.toContain('PRIVATE')
  })

  it('refuse queued mails after their removal, and refund them', async () => {
    const owner = await workspace()
    const domain = await verified(owner)
    const balance = async () => (await core.workspaces.account(owner.workspace_id)).credits_balance
    const before = await balance()
    await core.dispatch.stop({ reason: 'test' })
    const { data } = await mailFrom(owner, 'shop@acme.example')
    expect(await balance()).toBeLessThan(before)
    await core.domains.delete(owner.workspace_id, domain.id)
    await core.dispatch.resume()
    await dispatcher.idle()
    expect(await core.messages.get(owner, data.message_id)).toMatchObject({
      status: 'failed',
      error_code: 'sender_not_verified',
    })
    expect(await balance()).toBe(before)
    expect(sink.mails).toEqual([])
  })

  it('sign with the old key until the new key is verified', async () => {
    const owner = await workspace()
    const domain = await verified(owner)
    const rotating = await core.domains.rotate(owner.workspace_id, domain.id)
    await expect(core.domains.rotate(owner.workspace_id, domain.id)).rejects.toThrow('second key')
    const selectorOf = (raw = '') => /s=(svc[0-9a-f]{8})/.exec(raw)?.[1]
    const selectorIn = (record: { name: string }) => record.name.split('.')[0]
    await mailFrom(owner, 'shop@acme.example')
    await dispatcher.idle()
    const old = selectorIn(recordOf(domain, 'dkim'))
    expect(selectorOf(sink.mails.at(-1)?.raw)).toBe(old)
    const next = publish(rotating, 'dkim_next')
    await sweepAfter(HOUR_MS)
    const rotated = await core.domains.get(owner.workspace_id, domain.id)
    expect(rotated).toMatchObject({ status: 'verified', previous_selector: old })
    expect(recordOf(rotated, 'dkim')).toMatchObject({ name: next.name, state: 'verified' })
    await mailFrom(owner, 'shop@acme.example')
    await dispatcher.idle()
    expect(selectorOf(sink.mails.at(-1)?.raw)).toBe(selectorIn(next))
  })

  it('fail when their record is missing for three days, and free the name', async () => {
    const [owner, other] = [await workspace(), await workspace()]
    const domain = await verified(owner)
    const { name: at, value } = recordOf(domain, 'dkim')
    dns.records.delete(at)
    await sweepAfter(6 * HOUR_MS)
    const failing = await core.domains.get(owner.workspace_id, domain.id)
    expect(failing).toMatchObject({ status: 'failing', failing_since: runtime.now() })
    expect(failing.accepted_until?.getTime()).toBe(runtime.now().getTime() + 3 * DAY_MS)
    expect(lines.join('\n')).toContain('a sending domain changed')
    expect(await core.domains.broken(10)).toMatchObject([{ workspace_id: owner.workspace_id }])
    await mailFrom(owner, 'shop@acme.example')
    runtime.advance(3 * DAY_MS)
    await expect(mailFrom(owner, 'shop@acme.example')).rejects.toThrow('not a verified')
    await dispatcher.sweep()
    expect(await core.domains.get(owner.workspace_id, domain.id)).toMatchObject({
      status: 'failed',
    })
    const same = await verified(other)
    expect(same.status).toBe('verified')
    dns.records.set(at, [value])
    await expect(verify(owner, domain)).rejects.toThrow('Another workspace')
  })

  it('keep their keys sealed, also through encrypt and decrypt', async () => {
    const owner = await workspace()
    await verified(owner)
    const before = await core.secretsAtRest.status()
    expect(before).toMatchObject({ plain: 0, keys: [{ is_given: true }] })
    expect(await core.secretsAtRest.decrypt()).toMatchObject({ unreadable: 0 })
    expect((await core.secretsAtRest.status()).plain).toBeGreaterThan(0)
    expect(await core.secretsAtRest.encrypt()).toMatchObject({ unreadable: 0 })
    expect(await core.secretsAtRest.status()).toEqual(before)
    await mailFrom(owner, 'shop@acme.example')
    await dispatcher.idle()
    expect(sink.mails.at(-1)?.raw).toContain('DKIM-Signature')
  })
})
