import { DELIVERY_OUTCOMES, type Telemetry } from '@svc/core'
import { CHANNELS, ERRORS, MESSAGE_STATUSES, UNITS_PER_CREDIT } from '@svc/core/contract'
import type { Registry } from 'prom-client'
import { counter, histogram } from './series.ts'

/** Seconds, from what a commit takes to what a provider may take. */
const FAST = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
const SLOW = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const JOBS = [1, 2, 4, 8, 16, 32, 64, 128]

const QUEUES = ['messages', 'deliveries'] as const
const ATTEMPT_OUTCOMES = ['accepted', 'rejected', 'retry', 'ambiguous'] as const
const LOOKUP_OUTCOMES = ['found', 'not_found', 'unavailable'] as const
const CALLBACK_OUTCOMES = ['read', 'forged', 'unreadable'] as const

/**
 * What the core tells of its work, as counters and histograms. Each is there from the start for the labels that are
 * known then, so that the first failure is a rise and not a beginning.
 * @param providers the names of all that may carry messages.
 */
export function workMetrics(registry: Registry, providers: readonly string[]): Telemetry {
  const accepting = acceptMetrics(registry)
  const providing = providerMetrics(registry, providers)
  const delivering = deliveryMetrics(registry)
  const storing = storageMetrics(registry)
  return { ...accepting, ...providing, ...delivering, ...storing }
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
      help: 'Sends and bulks that were answered as the first time.',
      labels: ['channel'],
    },
    CHANNELS.map((channel) => [channel]),
  )
  const refusals = counter(
    registry,
    {
      name: 'svc_accepts_refused_total',
      help: 'Sends and bulks that were well formed and refused.',
      labels: ['channel', 'code'],
    },
    pairs(CHANNELS, Object.keys(ERRORS)),
  )
  const durations = histogram(registry, {
    name: 'svc_accept_duration_seconds',
    help: 'How long accepting a send or a bulk took, its commit included.',
    buckets: FAST,
  })
  const statuses = counter(
    registry,
    {
      name: 'svc_message_status_total',
      help: 'Messages that came to a status.',
      labels: ['channel', 'status'],
    },
    pairs(CHANNELS, MESSAGE_STATUSES),
  )
  const refunds = counter(registry, {
    name: 'svc_refunds_total',
    help: 'Messages whose credits were given back.',
  })
  const refunded = counter(registry, {
    name: 'svc_refunded_credits_total',
    help: 'Credits that were given back.',
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

function providerMetrics(registry: Registry, providers: readonly string[]) {
  const attempts = counter(
    registry,
    {
      name: 'svc_provider_attempts_total',
      help: 'Messages that a provider was asked to send, by what it made of it.',
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
      help: 'How long a provider took for the call that an attempt was part of.',
      labels: ['provider'],
      buckets: SLOW,
    },
    providers.map((provider) => [provider]),
  )
  const lookups = counter(
    registry,
    {
      name: 'svc_provider_lookups_total',
      help: 'Messages that a provider was asked about.',
      labels: ['provider', 'outcome'],
    },
    pairs(providers, LOOKUP_OUTCOMES),
  )
  const pauses = counter(
    registry,
    {
      name: 'svc_provider_pauses_total',
      help: 'How often a provider, or one of its senders, was paused because it refused its settings.',
      labels: ['provider'],
    },
    providers.map((provider) => [provider]),
  )
  const callbacks = counter(
    registry,
    {
      name: 'svc_provider_callbacks_total',
      help: 'Requests that providers made, by what they were.',
      labels: ['provider', 'outcome'],
    },
    pairs(providers, CALLBACK_OUTCOMES),
  )
  const received = counter(
    registry,
    {
      name: 'svc_messages_received_total',
      help: 'Messages that recipients wrote.',
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
      help: 'Tries of webhook deliveries, by the class of the answer or why there was none.',
      labels: ['outcome'],
    },
    DELIVERY_OUTCOMES.map((outcome) => [outcome]),
  )
  const durations = histogram(registry, {
    name: 'svc_delivery_attempt_duration_seconds',
    help: 'How long receivers took to answer a try, or not to.',
    buckets: SLOW,
  })
  const ends = counter(
    registry,
    {
      name: 'svc_deliveries_total',
      help: 'Webhook deliveries that were acknowledged, or given up after their tries.',
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
    help: 'How long a transaction took, until it was on disk.',
    buckets: FAST,
  })
  const jobs = histogram(registry, {
    name: 'svc_commit_jobs',
    help: 'How many jobs shared a commit.',
    buckets: JOBS,
  })
  const claims = histogram(
    registry,
    {
      name: 'svc_claim_duration_seconds',
      help: 'How long asking a queue for due work took.',
      labels: ['queue'],
      buckets: FAST,
    },
    QUEUES.map((queue) => [queue]),
  )
  const claimed = counter(
    registry,
    {
      name: 'svc_claimed_total',
      help: 'Messages and deliveries that were taken from their queue to be worked on.',
      labels: ['queue'],
    },
    QUEUES.map((queue) => [queue]),
  )
  const sweeps = counter(
    registry,
    {
      name: 'svc_sweeps_total',
      help: 'Looks for what had ended by itself: holds, grants, old answers.',
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
      claims(queue).observe(duration_ms / 1000)
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
