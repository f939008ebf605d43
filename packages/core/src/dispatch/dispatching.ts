import type { BroadcastStepper } from '../broadcasts/run.ts'
import { type Carriers, createPace, type Pauses } from '../carriers/carriers.ts'
import type { Provider } from '../contract/outside/provider.ts'
import { unsubscribeUrl } from '../contract/signing/unsubscribe-url.ts'
import { type DispatchGate, oneAtATime } from '../control/dispatch-control.ts'
import type { ProviderRecord } from '../control/provider-desk.ts'
import type { TxtLookup } from '../domains/txt-lookup.ts'
import type { Incoming } from '../inbound/inbound.ts'
import type { BulkStepper } from '../messages/bulk-pauses.ts'
import type { createReportIntake } from '../messages/reports.ts'
import type { ProviderFault } from '../providers/defined/definition.ts'
import { type InstalledProvider, SANDBOX } from '../providers/installed.ts'
import type { AuditRetention } from '../retention/audit-retention.ts'
import type { Retention } from '../retention/retention.ts'
import type { TestDeliveryQuotas } from '../rules/delivery-times.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Tracing } from '../runtime/tracing.ts'
import type { Sealer } from '../secrets/sealer.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { LowBalance } from '../storage/ports/stores.ts'
import type { SendReplies } from '../twiml/send-replies.ts'
import type { FallBack } from '../verifications/fallbacks.ts'
import type { TargetPolicy } from '../webhooks/target.ts'
import { type Dispatcher, startDispatcher } from './dispatcher.ts'
import { uptimeMs } from './lane.ts'
import {
  createCallGate,
  createPerformer,
  createProviders,
  logProviderFault,
  type MayStart,
  type Performer,
  type PerformerSettings,
} from './performer.ts'
import { type Listeners, startListening, startProviderWatch } from './provider-watch.ts'

import { createRouting } from './routing.ts'

/** Starts and stops dispatching in this process, and opens the providers on first use. */
export interface Dispatching {
  /** Reports that a message may be due. Has no effect while this process does not dispatch. */
  wake(): void
  /** Reports that a delivery may be due. Has no effect while this process does not dispatch. */
  wakeDeliveries(): void
  /** Tries the receiver of this webhook at once, even with an open breaker. Has no effect without dispatching. */
  deliverNow(webhookId: string): void
  /**
   * Starts the dispatcher once; further calls return the same dispatcher. A start that failed can be repeated.
   * @throws Error when another process has the right to dispatch.
   */
  start(parts: DispatchParts): Promise<Dispatcher>
  isRunning(): boolean
  /** Reads the pauses again now, because this process changed one. Has no effect without dispatching. */
  readPauses(): Promise<void>
  /** The provider of that name, opened in this thread. */
  provider(name: string): Promise<Provider>
  connectionsOf(name: string): ReturnType<Listeners['statesOf']>
  /** Stops the dispatcher when its work in flight has ended, at most after `grace_ms`. */
  stop(grace_ms: number): Promise<void>
  /** Closes the providers that were opened. */
  closeProviders(): Promise<void>
}

/** The parts of the service that dispatching uses. */
export interface DispatchParts {
  carriers: Carriers
  pauses: Pauses
  gate: DispatchGate
  reports: ReturnType<typeof createReportIntake>
  receive: (provider: string, incoming: readonly Incoming[]) => Promise<void>
  sendReplies: SendReplies
  fallBack: FallBack
  stepBroadcast: BroadcastStepper
  stepBulk: BulkStepper
  mailLowBalance: (low: LowBalance) => void
  mailWebhooks: (workspaceId: string) => boolean
  /** Runs before the first claim. */
  beforeStart: () => Promise<void>
  retention: Retention | null
  history: Retention | null
  auditRetention: AuditRetention
  verification_retention_days: number | undefined
  partitions_ahead: number | undefined
  txtLookup: TxtLookup
}

export function createDispatching({
  storage,
  runtime,
  sealer,
  tracing,
  record,
  providers,
  targets,
  public_url,
  secret,
  threads,
  lease_ms,
  quotas,
}: {
  storage: Storage
  runtime: Runtime
  sealer: Sealer
  tracing: Tracing | null
  record: ProviderRecord
  providers: readonly InstalledProvider[]
  targets: TargetPolicy
  public_url: () => string
  /** The secret with which providers sign. */
  secret: () => Promise<string>
  threads: number
  lease_ms: number | undefined
  quotas: TestDeliveryQuotas
}): Dispatching {
  let dispatcher: Dispatcher | null = null
  let starting: Promise<Dispatcher> | null = null
  let opening: Promise<OpenedProviders> | null = null
  let listeners: Listeners | null = null
  const gate_names = [SANDBOX, ...providers].map(({ name }) => name)
  const callGate = createCallGate(gate_names)
  let readPauses = async () => {}

  /** Opens the providers on first use, because the public URL is known only then. */
  function openedProviders(): Promise<OpenedProviders> {
    opening ??= openProviders()
    return opening
  }

  async function openProviders(): Promise<OpenedProviders> {
    const installed = [SANDBOX, ...providers]
    const context = { public_url: public_url(), secret: await secret() }
    const sources = installed.flatMap(({ source }) => source ?? [])
    const onFault = (fault: ProviderFault) => logProviderFault(runtime.log, fault)
    return {
      installed,
      settings: { ...context, targets, providers: sources, gate: callGate.cells, gate_names },
      providers: createProviders({
        ...context,
        providers: installed,
        mayStart: callGate.mayStart,
        noteCall: callGate.noteCall,
        onFault,
      }),
      trials: createProviders({ ...context, providers: installed, onFault }),
      mayStart: callGate.mayStart,
    }
  }

  async function start(parts: DispatchParts): Promise<Dispatcher> {
    const right = await storage.startDispatch()
    try {
      dispatcher = await startWith(right, parts)
      return dispatcher
    } catch (error) {
      await listeners?.close(0)
      listeners = null
      await right.release()
      throw error
    }
  }

  async function startWith(
    right: { release(): Promise<void> },
    { carriers, pauses, gate, reports, beforeStart, ...parts }: DispatchParts,
  ): Promise<Dispatcher> {
    readPauses = oneAtATime(async () => {
      const read_at_ms = uptimeMs()
      await gate.refresh()
      callGate.noteDispatch(read_at_ms, gate.is_paused)
      await pauses.refresh()
      callGate.noteProviders(read_at_ms, (name) => pauses.isStopped(name, null))
    })
    await readPauses()
    await beforeStart()
    const opened = await openedProviders()
    const { log, elapsed } = runtime
    listeners = await startListening({
      providers: providers.filter(({ traits }) => traits.listens).map(({ name }) => name),
      open: opened.providers.open,
      receiveReports: reports.receiveReports,
      log,
    })
    return startDispatcher({
      storage,
      runtime,
      sealer,
      right,
      performer: await openPerformer(runtime, threads, opened),
      routing: createRouting({ carriers, pace: createPace(), pauses, elapsed, record }),
      gate,
      watch: startProviderWatch({
        readPauses: () => readPauses(),
        settleParked: reports.settleParked,
        runtime,
      }),
      listeners,
      lease_ms,
      tracing,
      quotas,
      connections: new Map(
        providers.flatMap(({ name, traits: { connections: each } }) =>
          each === undefined ? [] : [[name, { each, all: each * Math.max(1, threads) }]],
        ),
      ),
      callsOf: callGate.callsOf,
      unsubscribeUrl: (ref) => unsubscribeUrl(opened.settings, ref),
      ...parts,
    })
  }

  return {
    wake: () => dispatcher?.wake(),
    wakeDeliveries: () => dispatcher?.wakeDeliveries(),
    deliverNow: (webhookId) => dispatcher?.deliverNow(webhookId),
    start(parts) {
      starting ??= start(parts).catch((error) => {
        starting = null
        throw error
      })
      return starting
    },
    readPauses: () => readPauses(),
    isRunning: () => dispatcher !== null,
    async provider(name) {
      const { installed, trials, providers } = await openedProviders()
      const found = installed.find((one) => one.name === name)
      // A connection, and a provider of the embedding program, is opened once.
      const isOwn = found?.source?.from === 'settings' && !found.traits.connected
      return (isOwn ? trials : providers).open(name)
    },
    connectionsOf: (name) => listeners?.statesOf(name) ?? [],
    async stop(grace_ms) {
      await starting?.catch(() => {})
      await dispatcher?.stop(grace_ms)
      dispatcher = null
    },
    async closeProviders() {
      // Providers that failed to open need no closing.
      const opened = await opening?.catch(() => null)
      await Promise.all([opened?.providers.close(), opened?.trials.close()])
    },
  }
}

/** The providers of this thread, and the settings from which other threads open their providers. */
interface OpenedProviders {
  installed: readonly InstalledProvider[]
  settings: PerformerSettings
  providers: ReturnType<typeof createProviders>
  /** The same providers, whose calls begin during a pause too: an operator tries them. */
  trials: ReturnType<typeof createProviders>
  mayStart: MayStart
}

/**
 * Opens a performer with `threads` threads; with 0 it works in this thread, as providers that hold a connection and those
 * that other threads cannot open always do.
 */
async function openPerformer(
  { now, log, telemetry, network }: Runtime,
  threads: number,
  { installed, settings, providers, mayStart }: OpenedProviders,
): Promise<Performer> {
  const here = createPerformer({ now, targets: settings.targets, providers, mayStart, network })
  if (threads === 0) return here
  const { createPool } = await import('./pool.ts')
  const ofThisThread = installed.filter(({ source, traits }) => source === null || traits.connected)
  const names = new Set(ofThisThread.map(({ name }) => name))
  return createPool({
    threads,
    log,
    telemetry,
    settings,
    here,
    isHere: (name) => names.has(name),
  })
}
