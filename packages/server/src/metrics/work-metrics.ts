import { CODE_CHECK_RESULTS, DELIVERY_OUTCOMES, type Telemetry } from '@svc/core'
import {
  API_KEY_MODES,
  CHANNELS,
  ERROR_REASONS,
  ERRORS,
  MESSAGE_STATUSES,
  UNITS_PER_CREDIT,
} from '@svc/core/contract'
import type { Registry } from 'prom-client'
import { counter, histogram } from './series.ts'

/** Buckets in seconds: FAST for commits, SLOW for providers and receivers. */
const FAST = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
const SLOW = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const JOBS = [1, 2, 4, 8, 16, 32, 64, 128]

const QUEUES = ['messages', 'deliveries'] as const
const ATTEMPT_OUTCOMES = ['accepted', 'rejected', 'retry', 'ambiguous'] as const
const LOOKUP_OUTCOMES = ['found', 'not_found', 'unavailable'] as const
const CALLBACK_OUTCOMES = ['read', 'forged', 'unreadable'] as const

/**
 * Counters and histograms of the core's work. Known label combinations exist from the start, so that the first failure
 * increases a counter and does not create it.
 * @param providers the names of all providers, including the sandbox
 */
export function workMetrics(registry: Registry, providers: readonly string[]): Telemetry {
  const accepting = acceptMetrics(registry)
  const providing = providerMetrics(registry, providers)
  const delivering = deliveryMetrics(registry)
  const storing = storageMetrics(registry)
  return { ...accepting, ...codeMetrics(registry), ...providing, ...delivering, ...storing }
}

function acceptMetrics(registry: Registry) {
  const requests = counter(
    registry,
    {
      name: 'svc_accepts_total',
      help: 'Sends and bulks that were accepted.',
      labels: ['channel'],
    },
    CHANNELS.map((channel) => [channel]),
  )
  const messages = counter(
    registry,
    {
      name: 'svc_messages_accepted_total',
      help: 'Messages that were accepted and are on disk.',
      labels: ['channel'],
    },
    CHANNELS.map((channel) => [channel]),
  )
  const replays = counter(
    registry,
    {
      name: 'svc_accepts_replayed_total',
      help: 'Sends and bulks that got their stored answer again.',
      labels: ['channel'],
    },
    CHANNELS.map((channel) => [channel]),
  )
  const refusals = counter(
    registry,
    {
      name: 'svc_accepts_refused_total',
      help: 'Sends and bulks that were valid but refused.',
      labels: ['channel', 'code'],
    },
    pairs(CHANNELS, Object.keys(ERRORS)),
  )
  const durations = histogram(registry, {
    name: 'svc_accept_duration_seconds',
    help: 'Duration of accepting a send or a bulk, its commit included.',
    buckets: FAST,
  })
  const statuses = counter(
    registry,
    {
      name: 'svc_message_status_total',
      help: 'Messages that reached a status.',
      labels: ['channel', 'status'],
    },
    pairs(CHANNELS, [...MESSAGE_STATUSES, 'canceled']),
  )
  const refunds = counter(registry, {
    name: 'svc_refunds_total',
    help: 'Messages whose credits were refunded, without canceled ones.',
  })
  const refunded = counter(registry, {
    name: 'svc_refunded_credits_total',
    help: 'Credits that were refunded, without those of canceled messages.',
  })
  return {
    accepted: (channel, count, duration_ms) => {
      requests(channel).value += 1
      messages(channel).value += count
      durations().observe(duration_ms / 1000)
    },
    replayed: (channel) => {
      replays(channel).value += 1
    },
    refused: (channel, code) => {
      refusals(channel, code).value += 1
    },
    reached: (channel, status, count) => {
      statuses(channel, status).value += count
    },
    refunded: (amount) => {
      refunds().value += 1
      refunded().value += amount / UNITS_PER_CREDIT
    },
  } satisfies Partial<Telemetry>
}

function codeMetrics(registry: Registry) {
  const inModes = (values: readonly string[]) =>
    values.flatMap((value) => API_KEY_MODES.map((mode) => [value, mode]))
  const starts = counter(
    registry,
    {
      name: 'svc_verification_starts_total',
      help: 'Requests for one-time codes that were accepted.',
      labels: ['channel', 'mode'],
    },
    inModes(CHANNELS),
  )
  const refusals = counter(
    registry,
    {
      name: 'svc_verification_refusals_total',
      help: 'Messages with one-time codes that a limit of codes refused.',
      labels: ['reason', 'mode'],
    },
    inModes(ERROR_REASONS),
  )
  const checks = counter(
    registry,
    {
      name: 'svc_verification_checks_total',
      help: 'Checks of one-time codes, by their result.',
      labels: ['result', 'mode'],
    },
    inModes(CODE_CHECK_RESULTS),
  )
  const approvals = counter(
    registry,
    {
      name: 'svc_verification_approvals_total',
      help: 'Verifications that were approved, by the channel of their last message.',
      labels: ['channel', 'mode'],
    },
    inModes(CHANNELS),
  )
  return {
    codeStarted: (channel, mode) => {
      starts(channel, mode).value += 1
    },
    codeRefused: (reason, mode) => {
      refusals(reason, mode).value += 1
    },
    codeChecked: (result, mode) => {
      checks(result, mode).value += 1
    },
    codeApproved: (channel, mode) => {
      approvals(channel, mode).value += 1
    },
  } satisfies Partial<Telemetry>
}

function providerMetrics(registry: Registry, providers: readonly string[]) {
  const attempts = counter(
    registry,
    {
      name: 'svc_provider_attempts_total',
      help: 'Attempts to send a message through a provider, by their outcome.',
      labels: ['provider', 'channel', 'outcome'],
    },
    pairs(providers, CHANNELS).flatMap((pair) =>
      ATTEMPT_OUTCOMES.map((outcome) => [...pair, outcome]),
    ),
  )
  const durations = histogram(
    registry,
    {
      name: 'svc_provider_attempt_duration_seconds',
      help: 'Duration of the call to a provider that an attempt was part of.',
      labels: ['provider'],
      buckets: SLOW,
    },
    providers.map((provider) => [provider]),
  )
  const lookups = counter(
    registry,
    {
      name: 'svc_provider_lookups_total',
      help: 'Lookups of messages at a provider, by their outcome.',
      labels: ['provider', 'outcome'],
    },
    pairs(providers, LOOKUP_OUTCOMES),
  )
  const pauses = counter(
    registry,
    {
      name: 'svc_provider_pauses_total',
      help: 'Pauses of a provider, or of one of its senders, because it refused its settings.',
      labels: ['provider'],
    },
    providers.map((provider) => [provider]),
  )
  const callbacks = counter(
    registry,
    {
      name: 'svc_provider_callbacks_total',
      help: 'Callbacks of providers, by their outcome.',
      labels: ['provider', 'outcome'],
    },
    pairs(providers, CALLBACK_OUTCOMES),
  )
  const received = counter(
    registry,
    {
      name: 'svc_messages_received_total',
      help: 'Messages received from recipients.',
      labels: ['provider', 'channel'],
    },
    pairs(providers, CHANNELS),
  )
  return {
    attempted: (provider, channel, outcome, duration_ms) => {
      attempts(provider, channel, outcome).value += 1
      durations(provider).observe(duration_ms / 1000)
    },
    lookedUp: (provider, outcome) => {
      lookups(provider, outcome).value += 1
    },
    providerPaused: (provider) => {
      pauses(provider).value += 1
    },
    calledBack: (provider, outcome) => {
      callbacks(provider, outcome).value += 1
    },
    received: (channel, provider) => {
      received(provider, channel).value += 1
    },
  } satisfies Partial<Telemetry>
}

function deliveryMetrics(registry: Registry) {
  const attempts = counter(
    registry,
    {
      name: 'svc_delivery_attempts_total',
      help: 'Attempts of webhook deliveries, by the class of the answer or the fault.',
      labels: ['outcome'],
    },
    DELIVERY_OUTCOMES.map((outcome) => [outcome]),
  )
  const durations = histogram(registry, {
    name: 'svc_delivery_attempt_duration_seconds',
    help: 'Duration of attempts of webhook deliveries.',
    buckets: SLOW,
  })
  const ends = counter(
    registry,
    {
      name: 'svc_deliveries_total',
      help: 'Webhook deliveries that were acknowledged, or that failed after all attempts.',
      labels: ['outcome'],
    },
    [['delivered'], ['failed']],
  )
  return {
    deliveryAttempted: (outcome, duration_ms) => {
      attempts(outcome).value += 1
      durations().observe(duration_ms / 1000)
    },
    deliveryEnded: (status) => {
      ends(status).value += 1
    },
  } satisfies Partial<Telemetry>
}

function storageMetrics(registry: Registry) {
  const commits = histogram(registry, {
    name: 'svc_commit_duration_seconds',
    help: 'Duration of transactions, until they were on disk.',
    buckets: FAST,
  })
  const jobs = histogram(registry, {
    name: 'svc_commit_jobs',
    help: 'Number of jobs in one commit.',
    buckets: JOBS,
  })
  const claims = histogram(
    registry,
    {
      name: 'svc_claim_duration_seconds',
      help: 'Duration of claims of due work from a queue.',
      labels: ['queue'],
      buckets: FAST,
    },
    QUEUES.map((queue) => [queue]),
  )
  const claimed = counter(
    registry,
    {
      name: 'svc_claimed_total',
      help: 'Messages and deliveries that were claimed from their queue.',
      labels: ['queue'],
    },
    QUEUES.map((queue) => [queue]),
  )
  const sweeps = counter(
    registry,
    {
      name: 'svc_sweeps_total',
      help: 'Sweeps of expired holds, grants and stored answers, by their outcome.',
      labels: ['outcome'],
    },
    [['done'], ['failed']],
  )
  const deaths = counter(registry, {
    name: 'svc_thread_deaths_total',
    help: 'Threads for providers and webhooks that died and were replaced.',
  })
  return {
    committed: (count, duration_ms) => {
      commits().observe(duration_ms / 1000)
      jobs().observe(count)
    },
    claimed: (queue, items, duration_ms) => {
      if (duration_ms !== null) claims(queue).observe(duration_ms / 1000)
      claimed(queue).value += items
    },
    swept: (hasFailed) => {
      sweeps(hasFailed ? 'failed' : 'done').value += 1
    },
    threadDied: () => {
      deaths().value += 1
    },
  } satisfies Partial<Telemetry>
}

function pairs(first: readonly string[], second: readonly string[]): string[][] {
  return first.flatMap((a) => second.map((b) => [a, b]))
}
