import type { Actor, Purchase } from '@svc/core'
import { SvcError, uuid } from '@svc/core/contract'
import type { DecodedCore, OperatorSession } from '@svc/core/operate'
import type { FastifyReply } from 'fastify'
import type { LoginName } from '../../admission/admission.ts'
import type { Authenticator, Identity } from '../../admission/authenticator.ts'
import type { Call, Handlers } from '../../routes/mount.ts'
import { type ConsoleAccess, cookiePlace, operatorToken } from '../access.ts'
import { originOf } from '../passkey-requests.ts'
import { clearedOperatorCookie, operatorCookie } from '../session-cookie.ts'
import { ACTIONS, type operatorEndpoints, type operatorSessionEndpoints } from './endpoints.ts'
import { auditOf, createReadings, namesOf, providersOf, purchasesOf } from './readings.ts'
import type { BackgroundWork, OperatorService } from './service.ts'

const PAGE = 25
const AUDIT_OF_WORKSPACE = 10
const BULKS_OF_WORKSPACE = 5
const UNKNOWN_MAX = 100
const PURCHASES_MAX = 100
/** The workspaces whose purchases a search by name finds: the newest. */
const BUYERS_MAX = 20

/** The handlers of the endpoints for operators. */
export function operatorHandlers(
  core: DecodedCore,
  {
    service,
    work,
    access,
    brand,
    elapsed,
  }: {
    service: OperatorService | null
    work: BackgroundWork
    access: ConsoleAccess
    brand: string
    elapsed: () => number
  },
): Handlers<typeof operatorEndpoints> {
  const readings = createReadings(core, elapsed)
  let checking: ReturnType<OperatorService['checks']> | null = null

  async function workspace(id: string) {
    const [found, account] = await Promise.all([
      core.workspaces.account(id),
      core.credits.account(id),
    ])
    return { ...account, ...found }
  }

  async function setTerms(
    { params: { id }, actor }: Pick<Call<unknown>, 'actor'> & { params: { id: string } },
    change: Parameters<DecodedCore['credits']['setTerms']>[1],
  ) {
    await core.credits.setTerms(id, change, actor)
    return { workspace: await workspace(id) }
  }

  async function newestBulks(id: string) {
    const { bulks } = core.messages
    const page = await bulks.list(id, { limit: BULKS_OF_WORKSPACE, offset: 0 })
    return Promise.all(
      page.bulks.map(async (bulk) => {
        const failed = bulk.failed - bulk.canceled
        const failures = failed > 0 ? (await bulks.get(id, bulk.id)).failures : []
        return { ...bulk, failed, failures }
      }),
    )
  }

  async function onePurchase(found: Purchase) {
    const [purchase] = await purchasesOf(core, [found])
    return { purchase: purchase as NonNullable<typeof purchase> }
  }

  /** The newest purchases of the workspace with this id or e-mail address, or else of those with this name. */
  async function boughtBy(
    text: string,
    list: (which: { workspace_id: string }) => Promise<Purchase[]>,
  ): Promise<Purchase[]> {
    const owner = await core.workspaces.byEmail(text)
    const buyers =
      owner === null
        ? await core.workspaces.search(uuid.safeParse(text).data ?? text, {
            limit: BUYERS_MAX,
            offset: 0,
          })
        : [owner]
    const found = await Promise.all(buyers.map(({ id }) => list({ workspace_id: id })))
    const newest = found.flat().sort((a, b) => b.created_at.getTime() - a.created_at.getTime())
    return newest.slice(0, PURCHASES_MAX)
  }

  return {
    overview: () => readings.overview(),
    async checks() {
      // One run at a time, because it contacts providers and reads the whole database.
      checking ??= (service?.checks(core as never) ?? Promise.resolve([])).finally(() => {
        checking = null
      })
      return { checks: await checking }
    },
    providers: async () => ({ providers: providersOf(await readings.read()) }),
    async pause_provider({ params: { name }, body, actor }) {
      await core.providers.pause(name, body, actor)
      readings.forget()
      return {}
    },
    async resume_provider({ params: { name }, body, actor }) {
      const was_paused = await core.providers.resume(name, body, actor)
      readings.forget()
      return { was_paused }
    },
    async check_provider({ params: { name } }) {
      const checked = await core.providers.check(name)
      return { type: checked.type, text: checked.type === 'failed' ? checked.text : null }
    },
    async workspaces({ query: { search, after } }) {
      const found = await core.workspaces.search(search.trim(), {
        ...{ limit: PAGE + 1, offset: 0 },
        ...(after && { after }),
      })
      const shown = found.slice(0, PAGE)
      const workspaces = await Promise.all(
        shown.map(async (one) => ({ ...(await core.credits.account(one.id)), ...one })),
      )
      return { workspaces, next_after: nextOf(found, shown) }
    },
    async workspace({ params: { id } }) {
      const page = { limit: AUDIT_OF_WORKSPACE, offset: 0 }
      const [shown, paused_countries, bulks, audit] = await Promise.all([
        workspace(id),
        core.verifications.pauses(id),
        newestBulks(id),
        core.audit.ofAll({ workspace_id: id }, page),
      ])
      return { workspace: shown, paused_countries, bulks, audit: audit.map(auditOf) }
    },
    async grant({ params, body: { credits: amount, reason: description, id }, actor }) {
      const grant = { amount, id, description, actor: actor.id ?? 'operator' }
      const { repeated } = await core.credits.grant(params.id, grant, actor)
      return { workspace: await workspace(params.id), repeated }
    },
    freeze: (call) => setTerms(call, { status: 'frozen', reason: call.body.reason }),
    unfreeze: (call) => setTerms(call, { status: 'active', reason: call.body.reason }),
    terms: (call) => setTerms(call, call.body),
    async allow_codes({ params: { id }, body: { country, hours, reason }, actor }) {
      // An unknown workspace is refused.
      await workspace(id)
      await core.verifications.allow(id, country, hours, actor, reason)
      return {}
    },
    async queues() {
      const [{ messages, deliveries, unknown }, pause, doubtful] = await Promise.all([
        core.overviews.queues(UNKNOWN_MAX),
        core.dispatch.pause(),
        core.dispatch.doubtful(),
      ])
      const nameOf = await namesOf(core, [...doubtful, ...unknown])
      return {
        ...{ messages, deliveries, pause },
        doubtful: doubtful.map(nameOf),
        unknown: unknown.map(nameOf),
      }
    },
    async pause({ body: { reason }, actor }) {
      await core.dispatch.stop({ reason }, actor)
      return {}
    },
    resume: ({ body: { choice }, actor }) => core.dispatch.resume(choice, actor),
    async purchases({ query: { search } }) {
      const page = { limit: PURCHASES_MAX, offset: 0 }
      const list = (which: Parameters<typeof core.billing.purchases>[0]) =>
        core.billing.purchases(which, page)
      const text = search.trim()
      if (text === '')
        return { purchases: await purchasesOf(core, await list({ in_review: true })) }
      const named = await list({ named: text })
      const found = named.length > 0 ? named : await boughtBy(text, list)
      return { purchases: await purchasesOf(core, found) }
    },
    check_purchase: async ({ params: { id }, body: { workspace_id, reason }, actor }) =>
      onePurchase(await core.billing.check(workspace_id, id, actor, reason)),
    refund_purchase: async ({ params: { id }, body: { workspace_id, reason }, actor }) =>
      onePurchase(await core.billing.refund(workspace_id, id, actor, reason)),
    ledger: () => work.ledger(),
    async verify_ledger({ body: { fast }, actor }) {
      if (work.verifyLedger(fast)) await core.operators.note('ledger.verified', actor)
      return work.ledger()
    },
    backups: () => work.backups(),
    async make_backup({ actor }) {
      if (work.makeBackup()) await core.operators.note('backup.made', actor)
      return work.backups()
    },
    settings: () => ({ settings: service ? [...service.settings] : null }),
    async change_password({ identity, body, countFor, actor }) {
      await countGuess(identity, countFor)
      await core.operators.changePassword(loginOf(identity).name, body, actor)
      return {}
    },
    async second_factor({ identity }) {
      const { name } = loginOf(identity)
      const own = (await core.operators.list()).find((one) => one.name === name)
      return { since: own?.totp_since ?? null, recovery_codes: own?.recovery_codes ?? 0 }
    },
    async begin_second_factor({ identity, body, countFor }) {
      await countGuess(identity, countFor)
      return core.operators.beginTotp(loginOf(identity).name, body)
    },
    async confirm_second_factor({ identity, body: { code }, tryCode, actor, reply }) {
      const { name } = loginOf(identity)
      const token = operatorToken(reply.request)
      const confirm = () => core.operators.confirmTotp(name, code, actor, token)
      return { recovery_codes: await tryCode(loginOf(identity), code, confirm) }
    },
    async end_second_factor({ identity, body, countFor, tryCode, actor }) {
      const login = loginOf(identity)
      await countGuess(identity, countFor)
      await tryCode(login, body.code, () => core.operators.endTotp(login.name, body, actor))
      return {}
    },
    passkeys: async ({ identity }) => ({
      passkeys: await core.operators.passkeys(loginOf(identity).name),
    }),
    async begin_passkey({ identity, body, countFor }) {
      await countGuess(identity, countFor)
      const site = { origin: originOf(access), brand }
      return { options: await core.operators.beginPasskey(loginOf(identity).name, body, site) }
    },
    async add_passkey({ identity, body: { passkey: registration, name }, actor, reply }) {
      const request = { registration, name }
      const own = loginOf(identity).name
      const { addPasskey } = core.operators
      const token = operatorToken(reply.request)
      const recovery_codes = await addPasskey(own, request, originOf(access), actor, token)
      return { recovery_codes }
    },
    async rename_passkey({ identity, params: { id }, body: { name } }) {
      await core.operators.renamePasskey(loginOf(identity).name, id, name)
      return {}
    },
    async remove_passkey({ identity, params: { id }, body, countFor, actor }) {
      await countGuess(identity, countFor)
      await core.operators.removePasskey(loginOf(identity).name, id, body, actor)
      return {}
    },
    async audit({ query: { workspace_id, action, startDate, endDate, after } }) {
      const page = { limit: PAGE + 1, offset: 0, ...(after && { after }) }
      const filter = { workspace_id, action, from: startDate, until: endDate }
      const found = await core.audit.ofAll(filter, page)
      const shown = found.slice(0, PAGE)
      return {
        audit_entries: shown.map(auditOf),
        next_after: nextOf(found, shown),
        actions: ACTIONS,
      }
    },
  }
}

/** The name with which the operator of a request signs in. */
function loginOf(identity: Identity | null): LoginName {
  if (identity?.kind !== 'operator') throw new Error('the endpoint takes operators only')
  return { kind: 'operator', name: identity.operator }
}

/** Counts a password that a signed-in operator enters: in a bucket that sign-ins of strangers do not use up. */
function countGuess(identity: Identity | null, countFor: (name: string) => Promise<void>) {
  return countFor(loginOf(identity).name)
}

function nextOf(found: readonly { id: string }[], shown: readonly { id: string }[]): string | null {
  return found.length > shown.length ? (shown.at(-1)?.id ?? null) : null
}

/** The handlers that begin and end the session of an operator. */
export function operatorSessionHandlers(
  core: DecodedCore,
  access: ConsoleAccess,
): Handlers<typeof operatorSessionEndpoints> {
  function assertSignIn(): void {
    if (access.has_sign_in && access.has_operators) return
    throw new SvcError('forbidden', 'Operators do not sign in here')
  }

  /** Gives the browser a session that began. */
  async function started(
    reply: FastifyReply,
    { operator, token }: OperatorSession,
    actor: Actor,
  ): Promise<{ operator: string }> {
    const replaced = operatorToken(reply.request)
    if (replaced !== null) await core.operators.signOut(replaced, actor)
    reply.header('set-cookie', operatorCookie(token, cookiePlace(access)))
    return { operator: operator.name }
  }

  return {
    async begin({ body, countLogin, tryCode, actor, reply }) {
      assertSignIn()
      const known = await core.operators.knownNetwork(body.name, actor.address)
      const login = { kind: 'operator', name: body.name } as const
      await countLogin(login, known)
      const session = await tryCode(login, body.code, () => core.operators.signIn(body, actor))
      return started(reply, session, actor)
    },
    async challenge({ body: { name, password }, countLogin, actor }) {
      assertSignIn()
      const { beginPasskeySignIn, knownNetwork } = core.operators
      const origin = originOf(access)
      if (!name || !password) return { options: await beginPasskeySignIn(origin) }
      await countLogin({ kind: 'operator', name }, await knownNetwork(name, actor.address))
      return { options: await beginPasskeySignIn(origin, { name, password }, actor) }
    },
    async begin_with_passkey({ body, countLogin, actor, reply }) {
      assertSignIn()
      const { passkey: assertion, password } = body
      if (password !== undefined) {
        const name = (await core.operators.nameOfPasskey(assertion.id)) ?? assertion.id
        const known = await core.operators.knownNetwork(name, actor.address)
        await countLogin({ kind: 'operator', name }, known)
      }
      const request = { assertion, password }
      const { signInWithPasskey } = core.operators
      return started(reply, await signInWithPasskey(request, originOf(access), actor), actor)
    },
    async end({ actor, reply }) {
      const token = operatorToken(reply.request)
      if (token !== null) await core.operators.signOut(token, actor)
      reply.header('set-cookie', clearedOperatorCookie(cookiePlace(access)))
      return { operator: null }
    },
  }
}

/** The name of the operator behind a request of the console; null for none, and for a session that ended. */
export async function operatorOf(
  authenticator: Authenticator,
  { reply: { request } }: Pick<Call<never>, 'reply'>,
): Promise<string | null> {
  const credential = authenticator.operatorCredentialOf(request)
  try {
    const identity = credential && (await authenticator.identify(credential, request))
    return identity?.kind === 'operator' ? identity.operator : null
  } catch (error) {
    if (error instanceof SvcError && error.status === 401) return null
    throw error
  }
}
