import type { ComponentChildren } from 'preact'

type Tone = 'good' | 'bad' | 'busy' | 'warn' | 'plain'

/** A short state with a colour; the text alone says the state too. */
export function Badge({ tone = 'plain', children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>
}

const TONES: Record<string, Tone> = {
  delivered: 'good',
  read: 'good',
  sent: 'busy',
  queued: 'plain',
  failed: 'bad',
  succeeded: 'good',
  completed: 'good',
  paid: 'good',
  active: 'good',
  enabled: 'good',
  verified: 'good',
  pending: 'busy',
  processing: 'busy',
  disabled: 'warn',
  expired: 'warn',
}

/** The badge of a status of the API. */
export function StatusBadge({ status }: { status: string }) {
  return <Badge tone={TONES[status] ?? 'plain'}>{status.replaceAll('_', ' ')}</Badge>
}
