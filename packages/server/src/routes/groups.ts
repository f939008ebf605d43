import { type api, type apiFor, SvcError, sliceOf, transaction } from '@svc/core/contract'
import {
  type DecodedCore,
  TRANSACTIONS_CSV_HEADER,
  within,
  writeTransactionsCsv,
} from '@svc/core/operate'
import type { FastifyInstance } from 'fastify'
import type { Admission } from '../admission/admission.ts'
import { type Authenticator, keyOf } from '../admission/authenticator.ts'
import type { ConsoleAccess } from '../console-api/access.ts'
import { contactRoutes } from './contacts.ts'
import { eventRoutes } from './events.ts'
import type { Export } from './exports.ts'
import { invitationRoutes, memberRoutes, sessionRoutes } from './members.ts'
import { messageRoutes, receivedRoutes } from './messages.ts'
import { type Handlers, mount } from './mount.ts'
import { paginationOf } from './paging.ts'
import { assertSelfService } from './self-service.ts'
import { webhookRoutes } from './webhooks.ts'
import { workspaceRoutes } from './workspaces.ts'

type Groups = ReturnType<typeof apiFor>

/** The parts that the handlers of the API need. */
export interface GroupParts {
  core: DecodedCore
  authenticator: Authenticator
  exportRows: Export
  self_service_domains: boolean
  isClosing(): boolean
  now(): number
}

/** The handlers of all groups of the API. A group without handlers does not compile. */
function handlersOf(
  app: FastifyInstance,
  {
    core,
    authenticator,
    exportRows,
    self_service_domains: self_service,
    isClosing,
    now,
  }: GroupParts,
): { [Name in keyof Groups]: Handlers<Groups[Name]> } {
  return {
    workspaces: workspaceRoutes(core, authenticator),
    members: memberRoutes(core),
    invitations: invitationRoutes(core, authenticator),
    sessions: sessionRoutes(core),
    api_keys: apiKeyRoutes(core),
    messages: messageRoutes(core, exportRows),
    bulks: bulkRoutes(core),
    received: receivedRoutes(core),
    verifications: verificationRoutes(core),
    templates: templateRoutes(core),
    broadcasts: broadcastRoutes(core),
    contacts: contactRoutes(core, exportRows),
    suppressions: suppressionRoutes(core),
    webhooks: webhookRoutes(core),
    events: eventRoutes(app, core, authenticator),
    domains: domainRoutes(core, { self_service }),
    billing: billingRoutes(core, exportRows),
    audit: auditRoutes(core),
    health: healthRoutes(core, { isClosing, now }),
  }
}

/** Serves all groups of the API: at their paths, and with `console` also below the path of the console. */
export function mountGroups(
  app: FastifyInstance,
  admission: Admission,
  api: Groups,
  { console, ...parts }: GroupParts & { console: ConsoleAccess | null },
): void {
  const handlers = handlersOf(app, parts)
  for (const name of Object.keys(api) as (keyof Groups)[]) {
    mount(app, admission, api[name], handlers[name] as never)
    if (console) mount(app, admission, api[name], handlers[name] as never, { console })
  }
}

function apiKeyRoutes(core: DecodedCore): Handlers<typeof api.api_keys> {
  return {
    create: ({ workspace_id, body, actor }) => core.apiKeys.create(workspace_id, body, actor),
    async list({ workspace_id, query }) {
      const { api_keys, total, next_after } = await core.apiKeys.list(workspace_id, sliceOf(query))
      return { api_keys, pagination: paginationOf(total, query), next_after }
    },
    async deactivate({ workspace_id, params, actor }) {
      await core.apiKeys.deactivate(workspace_id, params.id, actor)
      return { message: 'API key deactivated' }
    },
  }
}

function auditRoutes(core: DecodedCore): Handlers<typeof api.audit> {
  return {
    async list({ workspace_id, query }) {
      const { audit_entries, total, next_after } = await core.audit.list(workspace_id, query)
      return { audit_entries, pagination: paginationOf(total, query), next_after }
    },
  }
}

function billingRoutes({ billing }: DecodedCore, exportRows: Export): Handlers<typeof api.billing> {
  return {
    packages: () => ({ packages: billing.packages() }),
    async checkout({ workspace_id, body, idempotency_key, replayed: markReplayed }) {
      const { data, replayed } = await billing.checkout(workspace_id, body, { idempotency_key })
      if (replayed) markReplayed()
      return data
    },
    async transactions({ workspace_id, query }) {
      const { transactions, total, next_after } = await billing.transactions(
        workspace_id,
        sliceOf(query),
      )
      return { transactions, pagination: paginationOf(total, query), next_after }
    },
    export({ workspace_id, query, reply }) {
      const { format, ...part } = query
      return exportRows({
        ...{ reply, workspace_id, format, limit: part.limit },
        name: 'transactions',
        pages: billing.exportTransactions(workspace_id, part),
        header: TRANSACTIONS_CSV_HEADER,
        csv: writeTransactionsCsv,
        json: (row) => transaction.encode(row),
        positionOf: ({ number }) => String(number),
      })
    },
    async notify({ signed, countBadSignature }) {
      try {
        await billing.notify(signed)
      } catch (error) {
        if (error instanceof SvcError && error.status === 400) await countBadSignature()
        throw error
      }
      return { received: true }
    },
  }
}

function verificationRoutes({ verifications }: DecodedCore): Handlers<typeof api.verifications> {
  return {
    async start({ identity, body, idempotency_key, replayed: markReplayed }) {
      const options = { idempotency_key }
      const { data, replayed } = await verifications.start(keyOf(identity), body, options)
      if (replayed) markReplayed()
      return data
    },
    check: ({ identity, params, body }) => verifications.check(keyOf(identity), params.id, body),
    check_address: ({ identity, body }) => verifications.checkAddress(keyOf(identity), body),
    async resend({ identity, params, body, idempotency_key, replayed: markReplayed }) {
      const options = { idempotency_key }
      const key = keyOf(identity)
      const { data, replayed } = await verifications.resend(key, params.id, body, options)
      if (replayed) markReplayed()
      return data
    },
    stats: ({ viewer, query }) => verifications.stats(viewer, query),
    async cancel({ viewer, params }) {
      return { verification: await verifications.cancel(viewer, params.id) }
    },
    async get({ viewer, params }) {
      return { verification: await verifications.get(viewer, params.id) }
    },
    async list({ viewer, query }) {
      const { verifications: page, total, next_after } = await verifications.list(viewer, query)
      return { verifications: page, pagination: paginationOf(total, query), next_after }
    },
  }
}

function templateRoutes({ templates }: DecodedCore): Handlers<typeof api.templates> {
  return {
    async create({ workspace_id, body, actor }) {
      return { template: await templates.create(workspace_id, body, actor) }
    },
    async list({ workspace_id, query }) {
      const {
        templates: page,
        total,
        next_after,
      } = await templates.list(workspace_id, sliceOf(query))
      return { templates: page, pagination: paginationOf(total, query), next_after }
    },
    async get({ workspace_id, params }) {
      return { template: await templates.get(workspace_id, params.name) }
    },
    async update({ workspace_id, params, body, actor }) {
      return { template: await templates.update(workspace_id, params.name, body, actor) }
    },
    async publish({ workspace_id, params, body, actor }) {
      return { version: await templates.publish(workspace_id, params.name, body, actor) }
    },
    async push({ workspace_id, body, actor }) {
      return { templates: await templates.push(workspace_id, body, actor) }
    },
    async preview({ workspace_id, body }) {
      return { preview: await templates.preview(workspace_id, body) }
    },
    async versions({ workspace_id, params, query }) {
      const { versions, total, next_after } = await templates.versions(
        workspace_id,
        params.name,
        sliceOf(query),
      )
      return { versions, pagination: paginationOf(total, query), next_after }
    },
    async version({ workspace_id, params }) {
      return {
        version: await templates.version(workspace_id, params.name, Number(params.version)),
      }
    },
    async delete({ workspace_id, params, actor }) {
      await templates.delete(workspace_id, params.name, actor)
      return { message: 'Template deleted' }
    },
  }
}

function broadcastRoutes({ broadcasts }: DecodedCore): Handlers<typeof api.broadcasts> {
  return {
    async create({ identity, body, idempotency_key, actor, replayed: markReplayed }) {
      const options = { idempotency_key }
      const { data, replayed } = await broadcasts.create(keyOf(identity), body, options, actor)
      if (replayed) markReplayed()
      return data
    },
    async preview({ identity, body }) {
      return { preview: await broadcasts.preview(keyOf(identity), body) }
    },
    async list({ viewer, query }) {
      const page = { ...sliceOf(query), status: query.status }
      const { broadcasts: found, total, next_after } = await broadcasts.list(viewer, page)
      return { broadcasts: found, pagination: paginationOf(total, query), next_after }
    },
    get: ({ viewer, params }) => broadcasts.get(viewer, params.id),
    async update({ identity, params, body, actor }) {
      return { broadcast: await broadcasts.update(keyOf(identity), params.id, body, actor) }
    },
    async pause({ viewer, params, actor }) {
      return { broadcast: await broadcasts.pause(viewer, params.id, actor) }
    },
    async resume({ identity, params, actor }) {
      return { broadcast: await broadcasts.resume(keyOf(identity), params.id, actor) }
    },
    async cancel({ viewer, params, actor }) {
      return { broadcast: await broadcasts.cancel(viewer, params.id, actor) }
    },
  }
}

function bulkRoutes({ messages: { bulks } }: DecodedCore): Handlers<typeof api.bulks> {
  return {
    async send({ identity, body, idempotency_key, replayed: markReplayed }) {
      const { data, replayed } = await bulks.send(keyOf(identity), body, { idempotency_key })
      if (replayed) markReplayed()
      return data
    },
    async get({ viewer, params }) {
      return { bulk: await bulks.get(viewer, params.id) }
    },
    async rejected({ viewer, params, query }) {
      const { total, ...found } = await bulks.rejected(viewer, params.id, sliceOf(query))
      return { ...found, pagination: paginationOf(total, query) }
    },
    async pause({ viewer, params }) {
      return { bulk: await bulks.pause(viewer, params.id) }
    },
    async resume({ viewer, params }) {
      return { bulk: await bulks.resume(viewer, params.id) }
    },
    cancel: ({ viewer, params }) => bulks.cancel(viewer, params.id),
    async retry({ identity, params, replayed: markReplayed }) {
      const { data, replayed } = await bulks.retry(keyOf(identity), params.id)
      if (replayed) markReplayed()
      return data
    },
  }
}

/** @param options.self_service whether workspaces add, rotate and remove their domains themselves. */
function domainRoutes(
  core: DecodedCore,
  { self_service }: { self_service: boolean },
): Handlers<typeof api.domains> {
  return {
    async create({ workspace_id, body, actor }) {
      assertSelfService(self_service)
      return { domain: await core.domains.create(workspace_id, body, actor) }
    },
    async list({ workspace_id, query }) {
      const { domains, total, next_after } = await core.domains.list(workspace_id, sliceOf(query))
      return { domains, pagination: paginationOf(total, query), next_after }
    },
    async get({ workspace_id, params }) {
      return { domain: await core.domains.get(workspace_id, params.id) }
    },
    async verify({ workspace_id, params, actor }) {
      return { domain: await core.domains.verify(workspace_id, params.id, actor) }
    },
    async rotate({ workspace_id, params, actor }) {
      assertSelfService(self_service)
      return { domain: await core.domains.rotate(workspace_id, params.id, actor) }
    },
    async delete({ workspace_id, params, actor }) {
      assertSelfService(self_service)
      await core.domains.delete(workspace_id, params.id, actor)
      return { message: 'Domain removed' }
    },
  }
}

function suppressionRoutes(core: DecodedCore): Handlers<typeof api.suppressions> {
  return {
    async list({ workspace_id, query }) {
      const { suppressions, total, next_after } = await core.suppressions.list(
        workspace_id,
        query,
        sliceOf(query),
      )
      return { suppressions, pagination: paginationOf(total, query), next_after }
    },
    async add({ workspace_id, body }) {
      return { suppression: await core.suppressions.add(workspace_id, body) }
    },
    async remove({ workspace_id, params }) {
      await core.suppressions.remove(workspace_id, params)
      return { message: 'Suppression lifted' }
    },
  }
}

/** If the database does not answer within this time, it counts as down. */
const PING_MAX_MS = 2_000

function healthRoutes(
  core: DecodedCore,
  { isClosing, now }: { isClosing: () => boolean; now: () => number },
): Handlers<typeof api.health> {
  return {
    async check() {
      const database = await databaseHealth(core)
      const queue = queueState(core)
      const status = database === 'ok' && queue === 'ok' ? 'ok' : 'degraded'
      // The rate counters are the only cache. They are in shared rows of the database, or in this process, which runs.
      const cache = core.sharesCounters ? database : 'ok'
      return { status, timestamp: new Date(now()), services: { database, cache, queue } }
    },
    live: () => ({ status: 'ok' }),
    async ready({ reply }) {
      const status = isClosing() ? 'stopping' : await databaseState(core)
      if (status !== 'ok') reply.code(503)
      return { status }
    },
  }
}

function queueState(core: DecodedCore): 'ok' | 'paused' | 'stopped' {
  if (!core.isDispatching()) return 'stopped'
  return core.dispatch.isPaused() ? 'paused' : 'ok'
}

/** A database that cannot write its log back still takes requests, so that only the operator must know. */
async function databaseHealth(core: DecodedCore): Promise<string> {
  const state = await databaseState(core)
  return state === 'ok' && core.databaseFault() !== null ? 'checkpoint_error' : state
}

async function databaseState(core: DecodedCore): Promise<'ok' | 'error'> {
  try {
    return await within<'ok' | 'error'>(
      PING_MAX_MS,
      core.ping().then(() => 'ok' as const),
      () => 'error',
    )
  } catch {
    return 'error'
  }
}
