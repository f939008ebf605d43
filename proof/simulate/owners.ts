import { ask, identityOf, pause, type Stage, untilAnswered } from './client.ts'
import { elapsedMs } from './clock.ts'
import { type Hook, PACKAGE } from './model.ts'
import { visit } from './payments.ts'
import { mixed } from './random.ts'
import type { Doing } from './script.ts'

// What owners of workspaces do with purchases, webhooks and keys.

/** A workspace buys credits. A payer acts when the page is known. */
export async function buy(
  stage: Stage,
  { workspace, isKeyed, fate }: Doing<'buy'>,
  copy: number,
): Promise<void> {
  const { world, model } = stage
  const place = model.places[workspace]
  if (!place) return
  const idempotency_key = isKeyed ? `buy-${fate}` : undefined
  model.open += 1
  for (let time = 0; ; time++) {
    const answer = await ask(stage, `checkout ${idempotency_key ?? '-'}`, (core) =>
      core.billing.checkout(place.id, { package_id: PACKAGE.id }, { idempotency_key }),
    )
    if (answer && 'value' in answer) {
      const { checkout_url } = answer.value.data
      const session_id = checkout_url.split('/').at(-1) ?? ''
      world.trace(`checkout ${world.nameOf('p', session_id)} of ${workspace}`)
      // Copies with one key have one page.
      const isKnown = model.visited.has(session_id)
      if (isKnown && !isKeyed) world.violate('a request is accepted once', `${session_id} twice`)
      model.visited.add(session_id)
      if (!isKnown) visit(session_id, mixed(fate, copy))
      break
    }
    if (!isKeyed || time > 20) break
    await pause(time)
  }
  model.open -= 1
}

/** The number of receivers; each may have several webhooks. */
const RECEIVERS = 8

/** No webhook is added beyond this number. */
const HOOKS_MAX = 10

const MODES = ['all', 'live', 'test', 'all'] as const

export async function addHook(stage: Stage, { workspace, kind }: Doing<'webhook'>): Promise<void> {
  const { world, model } = stage
  const place = model.places[workspace]
  if (!place || model.hooks.length > HOOKS_MAX) return
  const receiver = 1 + (model.hooks.length % RECEIVERS)
  const mode = MODES[kind] ?? 'all'
  const form = kind === 3 ? 'resend' : 'svc'
  const answer = await ask(stage, 'new webhook', (core) =>
    core.webhooks.create(place.id, {
      url: `http://10.0.0.${receiver}/hook`,
      mode,
      events: kind === 4 ? ['message.failed', 'message.received'] : ['*'],
      format: form,
    }),
  )
  if (answer === null) model.hasUnknownHooks = true
  if (!answer || 'code' in answer) return
  const { id, secret } = answer.value
  model.hooks.push({
    id,
    place: workspace,
    receiver,
    mode,
    secrets: new Set([secret]),
    hasUnknownSecret: false,
    off_since_ms: null,
    form,
    isWhole: false,
  })
  world.trace(`webhook ${world.nameOf('w', id)} of ${workspace} to ${receiver}`)
}

/** What receivers do with deliveries that are tried again. */
const FAILING: readonly string[] = ['broken', 'dead', 'hanging', 'moved', 'forgetful']

export async function changeHook(stage: Stage, { which, how }: Doing<'change'>): Promise<void> {
  const { world, model } = stage
  const failing = model.hooks.filter(
    ({ off_since_ms, receiver }) =>
      off_since_ms === null && FAILING.includes(model.receivers.get(receiver) ?? 'well'),
  )
  // Most owners disable a webhook because it fails.
  const among = how === 'disable' && which % 4 > 0 && failing.length > 0 ? failing : model.hooks
  const hook = among[which % among.length] as Hook
  const place = model.places[hook.place]
  if (!place) return
  const at = world.nameOf('w', hook.id)
  if (how === 'test' || how === 'retry' || how === 'recover') {
    return askForDeliveries(stage, { hook, how })
  }
  if (how === 'enable') hook.off_since_ms = null
  if (how === 'disable' || how === 'delete') hook.isWhole = false
  const answer = await ask(stage, `${how} ${at}`, async (core) => {
    if (how === 'disable') await core.webhooks.update(place.id, hook.id, { is_active: false })
    else if (how === 'enable') await core.webhooks.enable(place.id, hook.id)
    else if (how === 'delete') await core.webhooks.delete(place.id, hook.id)
    else return (await core.webhooks.rotateSecret(place.id, hook.id)).secret
    return ''
  })
  if (how === 'rotate' && answer === null) hook.hasUnknownSecret = true
  if (!answer || 'code' in answer) return
  world.trace(`${how} ${at}`)
  if (how === 'rotate') hook.secrets.add(answer.value)
  if (how === 'disable' || how === 'delete') hook.off_since_ms = elapsedMs()
}

/** An owner wants a delivery for a test, or those that failed again. */
async function askForDeliveries(
  stage: Stage,
  { hook, how }: { hook: Hook; how: 'test' | 'retry' | 'recover' },
): Promise<void> {
  const { world, model, database } = stage
  const place = model.places[hook.place]
  if (!place || !world.core) return
  const failed = database()
    .prepare(
      "select id from deliveries where webhook_id = ? and status = 'failed' order by id desc",
    )
    .pluck()
    .get(hook.id) as string | undefined
  const at = `${how} ${world.nameOf('w', hook.id)}`
  hook.wasAskedAgain ||= how !== 'test'
  const since = new Date(Date.now() - 600_000).toISOString()
  const answer = await ask<unknown>(stage, at, ({ webhooks }) => {
    if (how === 'test') return webhooks.test(place.id, hook.id)
    if (how === 'recover') return webhooks.recover(place.id, hook.id, { since } as never)
    return webhooks.retry(place.id, hook.id, failed ?? place.id)
  })
  world.trace(`${at}: ${answer && 'code' in answer ? answer.code : answer !== null}`)
}

/** Replaces the key of a workspace, and checks that the old key is refused at once. */
export async function revoke(stage: Stage, workspace: number): Promise<void> {
  const { world, model } = stage
  const place = model.places[workspace]
  if (!place) return
  const { key: old, key_id: oldId } = place
  const made = await ask(stage, 'new key', (core) =>
    core.apiKeys.create(place.id, { name: 'next' }),
  )
  if (!made || 'code' in made) return
  place.key = made.value.key
  place.key_id = made.value.id
  const ended = await untilAnswered(stage, 'revoke', (core) =>
    core.apiKeys.deactivate(place.id, oldId),
  )
  if ('code' in ended && ended.code !== 'not_found') return
  world.trace(`key of ${workspace} revoked`)
  const answer = await ask(stage, 'revoked key', (core) => identityOf(core, old))
  if (answer && (!('code' in answer) || answer.code !== 'unauthorized')) {
    world.violate('a revoked key is refused at once', `key of ${workspace}`)
  }
}
