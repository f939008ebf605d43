import { BlockList, isIPv6 } from 'node:net'
import { type Actor, auditRow, SERVICE } from '../audit/entry.ts'
import type { BodyIn, Data, Form, Scope } from '../contract/endpoints/endpoint.ts'
import { pageOf, type Slice, withNext } from '../contract/endpoints/paging.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import type { Units } from '../contract/fields/units.ts'
import { LIMITS, type Quotas } from '../contract/limits.ts'
import {
  type ApiKey,
  DEFAULT_SCOPES,
  type apiKeys as endpoints,
} from '../contract/resources/api-keys.ts'
import { readBasicUser, sidOf } from '../contract/twilio/notation.ts'
import type { ApiKeyRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Sealer } from '../secrets/sealer.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'
import { assertCredentialHolds } from './credential.ts'
import { hashKey, isWellFormed, mintKey, placeOfKey, prefixOf } from './key.ts'

/** The identity of a request with an API key. */
export interface KeyIdentity {
  workspace_id: string
  api_key_id: string
  scopes: readonly Scope[]
  mode: 'live' | 'test'
  /** The maximum number of credits that the key may spend in a day (UTC); null: no limit. */
  daily_credit_limit: Units | null
}

/** The API keys of workspaces. */
export interface ApiKeys<F extends Form = 'given'> {
  /**
   * Creates a key. Only this result has the key itself: the database has its hash, and for a key with `signs` the
   * encrypted key.
   * @throws SvcError `validation_error` when `expires_at` is not in the future, or the limit of keys is reached.
   */
  create(
    workspaceId: string,
    request: BodyIn<typeof endpoints.create, F>,
    actor?: Actor,
  ): Promise<Data<typeof endpoints.create>>
  /** Returns a page of the keys, newest first, and their total number. */
  list(
    workspaceId: string,
    page: Slice,
  ): Promise<{ api_keys: ApiKey[]; total: number; next_after: string | null }>
  /** Ends a key, from its next request on, and the callbacks that it signs. @throws SvcError `not_found` when the workspace has no such key. */
  deactivate(workspaceId: string, keyId: string, actor?: Actor): Promise<void>
  /**
   * Returns the identity of a key. After a deactivation, the very next request with the key is refused.
   * @param key an absent key, such as an environment variable that is not set, is refused as a wrong one
   * @throws SvcError `unauthorized`; `forbidden` for an address that the key does not allow.
   */
  authenticate(key: string | undefined, address: string): Promise<KeyIdentity>
  /**
   * Returns the identity of a key that was sent as the password of Basic credentials for Twilio's API. The user name is the
   * account SID of the key's workspace, or the key's own SID.
   * @throws SvcError like `authenticate`; `unauthorized` also if the key belongs to another workspace or SID.
   */
  authenticateBasic(user: string, password: string, address: string): Promise<KeyIdentity>
  /**
   * Returns the identity of a key by its id, for a request that is not signed with the key itself but with a secret of it.
   * @throws SvcError like `authenticate`.
   */
  identify(workspaceId: string, keyId: string, address: string): Promise<KeyIdentity>
  /**
   * Does the same as `authenticate`, without a look-up, for a key that was authenticated before and whose row has certainly
   * not changed since. Returns null for every other key.
   */
  authenticateKnown(key: string, address: string): KeyIdentity | null
  /**
   * The ids of a key that may call, as far as its row was last seen: only `authenticate` admits it. Lets the caller count a
   * request while the key is checked. Null where `authenticateKnown` needs no check.
   */
  expectedOf(key: string, address: string): Pick<KeyIdentity, 'workspace_id' | 'api_key_id'> | null
  /** Stores pending changes of `last_used_at`. */
  flush(): Promise<void>
  /** Stores pending changes of `last_used_at`. `close` of the core calls it. */
  close(): Promise<void>
}

/** The maximum number of keys in `known`. At this number the map is emptied before the next key is added. */
const KNOWN_MAX = 10_000

const ONCE = 'Store this key now: it is shown only once and cannot be recovered.'
const UNVERIFIED =
  'The e-mail address of this workspace is not verified: this key is revoked when it is. Verify it first for a key that lasts.'

export function createApiKeys({
  storage,
  runtime,
  sealer,
  quotas,
  endSigning,
}: {
  storage: Storage
  runtime: Runtime
  sealer: Sealer
  quotas: Pick<Quotas, 'api_keys'>
  /** Disables the webhooks that a key signs, in the transaction that deactivates the key. */
  endSigning: (stores: Writes, workspaceId: string, keyId: string) => Promise<void>
}): ApiKeys<'decoded'> {
  const usage = createUsage({ storage, runtime })
  // The key of the map is the text of the list, so a changed list gets a new entry.
  const parsed = new Map<string, BlockList>()
  // The key of the map is the API key itself, not its hash: hashing costs as much as all other checks together.
  const known = new Map<string, ApiKeyRow>()
  let knownVersion: number | undefined

  function mayCallFrom(key: ApiKeyRow, address: string): boolean {
    if (!key.allowed_ips) return true
    const text = key.allowed_ips.join(',')
    const list = parsed.get(text) ?? parseNetworks(key.allowed_ips)
    if (parsed.size > 1000) parsed.clear()
    parsed.set(text, list)
    return list.check(address, familyOf(address))
  }

  /** The error for a key that may not call now. */
  function refusalOf(key: ApiKeyRow, address: string, now: Date): SvcError | null {
    if (key.expires_at && key.expires_at <= now) return unknownKey()
    if (!key.is_active) return new SvcError('unauthorized', 'API key has been deactivated')
    if (mayCallFrom(key, address)) return null
    return new SvcError('forbidden', 'This API key may not be used from this address')
  }

  /** @throws SvcError for a key that may not call now. */
  function admitted(key: ApiKeyRow, address: string, now: Date): KeyIdentity {
    const refusal = refusalOf(key, address, now)
    if (refusal) throw refusal
    usage.note(key, now)
    return {
      workspace_id: key.workspace_id,
      api_key_id: key.id,
      scopes: key.scopes as Scope[],
      mode: key.mode,
      daily_credit_limit: key.daily_credit_limit,
    }
  }

  async function authenticate(text = '', address: string): Promise<KeyIdentity> {
    // The version is read before the row. After a write between both reads, the entry counts as outdated, never as current.
    const version = storage.hot.keysVersion?.()
    const row = isWellFormed(text) ? await storage.hot.findApiKey(hashKey(text)) : null
    if (!row) {
      known.delete(text)
      throw unknownKey()
    }
    if (version === knownVersion) {
      if (known.size >= KNOWN_MAX) known.clear()
      known.set(text, row)
    }
    return admitted(row, address, runtime.now())
  }

  return {
    async create(workspaceId, request, actor = SERVICE) {
      const at = runtime.now()
      if (request.expires_at && request.expires_at <= at) throw alreadyExpired()
      const key = mintKey(request.mode, runtime.bytes)
      const id = runtime.id()
      const place = placeOfKey({ workspace_id: workspaceId, id })
      const row: ApiKeyRow = {
        id,
        workspace_id: workspaceId,
        name: request.name,
        key_hash: hashKey(key),
        key_prefix: prefixOf(key),
        mode: request.mode,
        scopes: [...new Set(request.scopes ?? DEFAULT_SCOPES[request.mode])],
        is_active: true,
        expires_at: request.expires_at ?? null,
        allowed_ips: request.allowed_ips ?? null,
        daily_credit_limit: request.daily_credit_limit ?? null,
        last_used_at: null,
        created_at: at,
        sealed_key: request.signs ? sealer.seal(place, key) : null,
      }
      const isVerified = await storage.write(async (stores) => {
        const { workspaces, apiKeys, audit } = stores
        // This call also locks the workspace: without the lock, concurrent requests would count the same keys.
        await assertCredentialHolds(stores, workspaceId, actor)
        const active = await apiKeys.countActive(workspaceId, at)
        if (active >= quotas.api_keys) throw tooMany(quotas.api_keys)
        await apiKeys.insert(row)
        const created = {
          workspace_id: workspaceId,
          action: 'api_key.created',
          target: { type: 'api_key', id: row.id },
          details: {
            mode: row.mode,
            scopes: row.scopes,
            key_prefix: row.key_prefix,
            ...(request.signs && { signs: true }),
          },
        } as const
        await audit.record(auditRow(runtime, actor, created))
        return (await workspaces.byId(workspaceId))?.email_verified ?? true
      })
      const warning = isVerified ? ONCE : `${ONCE} ${UNVERIFIED}`
      return { ...recordOf(row), key, warning, ...(request.signs && sidsOf(row)) }
    },
    async list(workspaceId, page) {
      const [found, total] = await Promise.all([
        storage.read.apiKeys.list(workspaceId, withNext(page)),
        storage.read.apiKeys.count(workspaceId),
      ])
      const { rows, next_after } = pageOf(found, page, ({ id }) => id)
      return { api_keys: rows.map(recordOf), total, next_after }
    },
    async deactivate(workspaceId, keyId, actor = SERVICE) {
      await storage.write(async (stores) => {
        const { apiKeys, audit } = stores
        if (!(await apiKeys.deactivate(workspaceId, keyId))) {
          throw new SvcError('not_found', 'API key not found')
        }
        await endSigning(stores, workspaceId, keyId)
        const deactivated = {
          workspace_id: workspaceId,
          action: 'api_key.deactivated',
          target: { type: 'api_key', id: keyId },
        } as const
        await audit.record(auditRow(runtime, actor, deactivated))
      })
    },
    authenticate,
    async authenticateBasic(user, password, address) {
      const named = readBasicUser(user)
      if (named === null) throw unknownKey()
      const identity = await authenticate(password, address)
      const isNamed =
        'api_key_id' in named
          ? named.api_key_id === identity.api_key_id
          : named.workspace_id === identity.workspace_id
      if (!isNamed) throw unknownKey()
      return identity
    },
    async identify(workspaceId, keyId, address) {
      const row = await storage.read.apiKeys.byId(workspaceId, keyId)
      if (!row) throw unknownKey()
      return admitted(row, address, runtime.now())
    },
    authenticateKnown(text, address) {
      const now = runtime.now()
      const version = storage.hot.keysVersion?.()
      if (version === undefined) return null
      if (version !== knownVersion) known.clear()
      knownVersion = version
      const row = known.get(text)
      return row ? admitted(row, address, now) : null
    },
    expectedOf(text, address) {
      const row = storage.hot.keysVersion ? undefined : known.get(text)
      if (!row || refusalOf(row, address, runtime.now())) return null
      return { workspace_id: row.workspace_id, api_key_id: row.id }
    },
    flush: usage.flush,
    close: usage.close,
  }
}

function unknownKey(): SvcError {
  return new SvcError('unauthorized', 'Invalid API key')
}

function tooMany(max: number): SvcError {
  return invalid(
    '',
    `A workspace may have at most ${max} active API keys. Deactivate one that is not used any more: DELETE /api/v1/api-keys/:id`,
  )
}

function alreadyExpired(): SvcError {
  return invalid('expires_at', 'expires_at must be in the future')
}

/** Parses IP addresses and CIDR networks. An IPv4-mapped IPv6 address matches the IPv4 one. */
function parseNetworks(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', prefix] = network.split('/')
    if (prefix === undefined) list.addAddress(address, familyOf(address))
    else list.addSubnet(address, Number(prefix), familyOf(address))
  }
  return list
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4'
}

function recordOf({ key_hash: _, sealed_key, ...row }: ApiKeyRow): ApiKey {
  return { ...row, scopes: row.scopes as Scope[], signs: sealed_key !== null }
}

function sidsOf({ workspace_id, id }: Pick<ApiKeyRow, 'workspace_id' | 'id'>) {
  return { account_sid: sidOf('account', workspace_id), key_sid: sidOf('api_key', id) }
}

/** The first use of a key is stored within a second; later uses are stored at most once a minute. */
const FIRST_MS = 1_000

const WRITE_MAX = 50

/** The maximum number of keys whose use waits to be stored. */
const WAITING_MAX = 10_000

/** Stores `last_used_at` in the background, at most once a minute for each key. */
function createUsage({ storage, runtime }: { storage: Storage; runtime: Runtime }) {
  let waiting = new Map<string, { workspace_id: string; id: string; at: Date }>()
  let timer: NodeJS.Timeout | null = null

  async function flush(): Promise<void> {
    if (timer) clearTimeout(timer)
    timer = null
    if (waiting.size === 0) return
    // The uses are sorted, so that servers that update the same keys do not deadlock.
    const uses = [...waiting.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
    waiting = new Map()
    try {
      // The transactions are small, because sends wait while a transaction runs.
      for (let at = 0; at < uses.length; at += WRITE_MAX) {
        await storage.write(({ apiKeys }) => apiKeys.touch(uses.slice(at, at + WRITE_MAX)))
      }
    } catch (error) {
      runtime.log.warn({ err: error }, 'last_used_at was not written')
    }
  }

  return {
    flush,
    note(key: Pick<ApiKeyRow, 'workspace_id' | 'id' | 'last_used_at'>, at: Date): void {
      const age_s = key.last_used_at ? (at.getTime() - key.last_used_at.getTime()) / 1000 : null
      // A `last_used_at` in the future was stored while the clock was ahead.
      if (age_s !== null && Math.abs(age_s) < LIMITS.api_key_touch_s) return
      if (waiting.has(key.id) || waiting.size >= WAITING_MAX) return
      waiting.set(key.id, { workspace_id: key.workspace_id, id: key.id, at })
      timer ??= setTimeout(() => void flush(), FIRST_MS).unref()
    },
    close: flush,
  }
}

/**
 * Checks the scope of an API key.
 * @throws SvcError `forbidden` if the key lacks the scope, or is a test key and the scope has no test data.
 */
export function requireScope(
  { scopes, mode }: Pick<KeyIdentity, 'scopes' | 'mode'>,
  scope: Scope | undefined,
): void {
  if (!scope) return
  if (!scopes.includes(scope)) {
    throw new SvcError('forbidden', `API key does not have required scope: ${scope}`)
  }
  if (scope === 'manage_contacts' && mode === 'test') {
    throw new SvcError(
      'forbidden',
      'Contacts and suppressions are live data: a test key cannot manage them',
    )
  }
}
