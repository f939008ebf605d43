import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { assertCredentialHolds } from '../api-keys/credential.ts'
import { type Actor, auditRow, SERVICE } from '../audit/entry.ts'
import type { BodyIn, Form } from '../contract/endpoints/endpoint.ts'
import { pageOf, type Slice, withNext } from '../contract/endpoints/paging.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { DOMAIN_TEXT, domainName } from '../contract/fields/email-address.ts'
import { LIMITS, type Quotas } from '../contract/limits.ts'
import type { AuditAction } from '../contract/resources/audit.ts'
import type { Domain, domains as endpoints } from '../contract/resources/domains.ts'
import type { SendingDomainRow } from '../rows/rows.ts'
import { isUsable } from '../rules/sending-domain.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Sealer } from '../secrets/sealer.ts'
import type { Reads } from '../storage/ports/storage.ts'
import { type CheckParts, checkDomain, domainOf } from './checks.ts'

import { placeOfDomainKey } from './signing-keys.ts'

/** The sending domains of workspaces. */
export interface Domains<F extends Form = 'given'> {
  /**
   * Adds a domain with a new key, and returns the records to publish.
   * @throws SvcError `validation_error` if the workspace has the domain already, or if the quota is reached.
   */
  create(
    workspaceId: string,
    request: BodyIn<typeof endpoints.create, F>,
    actor?: Actor,
  ): Promise<Domain>
  /** Returns a page of the domains, newest first, and their total number. */
  list(
    workspaceId: string,
    page: Slice,
  ): Promise<{ domains: Domain[]; total: number; next_after: string | null }>
  /** One domain with its DNS records. @throws SvcError `not_found`, also for a domain of another workspace. */
  get(workspaceId: string, domainId: string): Promise<Domain>
  /**
   * Looks for the records of the domain in DNS, for at most 6 s, and stores their states.
   * @throws SvcError in the same cases as `get`; `rate_limit_exceeded` within 10 s of the last check; `validation_error`
   *   if another workspace verified the domain.
   */
  verify(workspaceId: string, domainId: string, actor?: Actor): Promise<Domain>
  /**
   * Makes a second key. The first key signs until the record of the second key is verified.
   * @throws SvcError in the same cases as `get`; `validation_error` for a domain that is not verified, or that already
   *   has a second key.
   */
  rotate(workspaceId: string, domainId: string, actor?: Actor): Promise<Domain>
  /** Removes the domain, its keys and its claim. @throws SvcError in the same cases as `get`. */
  delete(workspaceId: string, domainId: string, actor?: Actor): Promise<void>
  /** Domains of all workspaces that were verified and are not any more, for the operator. At most `limit`. */
  broken(limit: number): Promise<(Domain & { workspace_id: string })[]>
}

export function createDomains({
  sealer,
  quotas,
  ...parts
}: CheckParts & { sealer: Sealer; quotas: Pick<Quotas, 'domains'> }): Domains<'decoded'> {
  const { storage, runtime } = parts

  const entryOf = ({ workspace_id, id, domain }: SendingDomainRow, action: AuditAction) => ({
    workspace_id,
    action,
    target: { type: 'domain', id },
    details: { domain },
  })

  async function assertRoom(reads: Reads['sendingDomains'], workspaceId: string, domain: string) {
    const known = await reads.byName(workspaceId, domain)
    if (known)
      throw invalid('domain', `${domain} is already a domain of this workspace: ${known.id}`)
    if ((await reads.count(workspaceId)) >= quotas.domains) throw tooMany(quotas.domains)
  }

  async function noteStart(workspaceId: string, domainId: string): Promise<SendingDomainRow> {
    return storage.write(async ({ sendingDomains }) => {
      const row = found(await sendingDomains.lock(workspaceId, domainId))
      const now = runtime.now()
      const elapsed_ms = now.getTime() - (row.check_began_at?.getTime() ?? Number.NEGATIVE_INFINITY)
      const wait_s = LIMITS.domain_check_s - elapsed_ms / 1000
      // A clock that was set back must not block the checks for longer than the limit.
      if (wait_s > 0 && elapsed_ms >= 0) throw tooSoon(Math.ceil(wait_s))
      await sendingDomains.change(workspaceId, domainId, { check_began_at: now })
      return row
    })
  }

  return {
    async create(workspaceId, request, actor = SERVICE) {
      const domain = domainName(request.domain)
      if (domain === null) throw invalid('domain', DOMAIN_TEXT)
      // Checked before too, because a key costs a tenth of a second.
      await assertRoom(storage.read.sendingDomains, workspaceId, domain)
      const key = await mintDomainKey(runtime.bytes)
      const at = runtime.now()
      const ids = { workspace_id: workspaceId, id: runtime.id() }
      const row: SendingDomainRow = {
        ...ids,
        domain,
        status: 'pending',
        selector: key.selector,
        private_key: sealer.seal(placeOfDomainKey(ids, key.selector), key.private_key),
        public_key: key.public_key,
        next_selector: null,
        next_private_key: null,
        next_public_key: null,
        previous_selector: null,
        findings: {},
        check_error: null,
        check_began_at: null,
        checked_at: null,
        check_due_at: null,
        verified_at: null,
        failing_since: null,
        created_at: at,
        updated_at: at,
      }
      await storage.write(async (stores) => {
        await assertCredentialHolds(stores, workspaceId, actor)
        await assertRoom(stores.sendingDomains, workspaceId, domain)
        await stores.sendingDomains.insert(row)
        await stores.audit.record(auditRow(runtime, actor, entryOf(row, 'domain.added')))
      })
      return domainOf(row)
    },
    async list(workspaceId, page) {
      const [rows_found, total] = await Promise.all([
        storage.read.sendingDomains.list(workspaceId, withNext(page)),
        storage.read.sendingDomains.count(workspaceId),
      ])
      const { rows, next_after } = pageOf(rows_found, page, ({ id }) => id)
      return { domains: rows.map(domainOf), total, next_after }
    },
    async get(workspaceId, domainId) {
      return domainOf(found(await storage.read.sendingDomains.byId(workspaceId, domainId)))
    },
    async verify(workspaceId, domainId, actor = SERVICE) {
      const before = await noteStart(workspaceId, domainId)
      const checked = await checkDomain(parts, before, actor)
      if (!checked) throw notFound()
      if (checked.is_taken) throw taken(before.domain)
      return domainOf(checked.row)
    },
    async rotate(workspaceId, domainId, actor = SERVICE) {
      const before = found(await storage.read.sendingDomains.byId(workspaceId, domainId))
      assertRotatable(before, runtime.now())
      const key = await mintDomainKey(runtime.bytes)
      return storage.write(async ({ sendingDomains, audit }) => {
        const row = found(await sendingDomains.lock(workspaceId, domainId))
        const now = runtime.now()
        assertRotatable(row, now)
        const { dkim_next: _, ...findings } = row.findings
        const change = {
          next_selector: key.selector,
          next_private_key: sealer.seal(placeOfDomainKey(row, key.selector), key.private_key),
          next_public_key: key.public_key,
          findings,
          check_due_at: now,
          updated_at: now,
        }
        await sendingDomains.change(workspaceId, domainId, change)
        await audit.record(auditRow(runtime, actor, entryOf(row, 'domain.rotation_started')))
        return domainOf({ ...row, ...change })
      })
    },
    async delete(workspaceId, domainId, actor = SERVICE) {
      await storage.write(async ({ sendingDomains, audit }) => {
        const row = found(await sendingDomains.lock(workspaceId, domainId))
        await sendingDomains.remove(workspaceId, domainId)
        await audit.record(auditRow(runtime, actor, entryOf(row, 'domain.removed')))
      })
    },
    async broken(limit) {
      const rows = await storage.read.sendingDomains.ofAll(['failing', 'failed'], limit)
      return rows.map((row) => ({ ...domainOf(row), workspace_id: row.workspace_id }))
    },
  }
}

function found(row: SendingDomainRow | null): SendingDomainRow {
  if (!row) throw notFound()
  return row
}

function notFound(): SvcError {
  return new SvcError('not_found', 'Domain not found')
}

function assertRotatable(row: SendingDomainRow, now: Date): void {
  if (!isUsable(row, now)) {
    throw invalid('id', `${row.domain} is not verified: only a verified domain can get another key`)
  }
  if (row.next_selector !== null) {
    throw invalid('id', `${row.domain} already has a second key, which waits for its record`)
  }
}

function tooMany(max: number): SvcError {
  return invalid(
    '',
    `A workspace may have at most ${max} sending domains. Remove one that is not used any more: DELETE /api/v1/domains/:id`,
  )
}

function tooSoon(retry_after_s: number): SvcError {
  const text = `The domain was checked a moment ago. Try again in ${retry_after_s} seconds.`
  return new SvcError('rate_limit_exceeded', text, { retry_after_s })
}

function taken(domain: string): SvcError {
  return invalid(
    'id',
    `Another workspace verified ${domain}. It must remove the domain first: please contact support.`,
  )
}

/** A key pair for DKIM signatures (RFC 6376). */
interface DomainKey {
  /** The key is published at `<selector>._domainkey.<domain>`. */
  selector: string
  /** PEM (PKCS #8). */
  private_key: string
  /** Base64 (SPKI), as in the record. */
  public_key: string
}

/** Receivers must verify 2048 bits (RFC 8301). A record with a longer key exceeds the UDP limit of old resolvers. */
const RSA_BITS = 2048

const generate = promisify(generateKeyPair)

/** Makes a key pair in a thread of the pool: it takes about 100 ms. The random selector is never used twice. */
async function mintDomainKey(bytes: Runtime['bytes']): Promise<DomainKey> {
  const pair = await generate('rsa', {
    modulusLength: RSA_BITS,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  return {
    selector: `svc${bytes(4).toString('hex')}`,
    private_key: pair.privateKey,
    public_key: pair.publicKey.toString('base64'),
  }
}
