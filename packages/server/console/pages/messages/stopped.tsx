import { useEffect } from 'preact/hooks'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import { t } from '../../shell/text.ts'
import { channelName } from './channels.ts'

interface Sending {
  is_frozen: boolean
  is_paused: boolean
  paused_channels: string[]
}

/** A pause that begins while the page is open is shown after this time at most. */
const RELOAD_EVERY_MS = 30_000

/** Says why a message of this channel would be refused or would wait. `isQueued`: it is accepted already. */
export function Stopped({ channel, isQueued = false }: { channel: string; isQueued?: boolean }) {
  const { data, reload } = useLoad((signal) => ownApi.get<Sending>('/sending', {}, signal), [])
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), RELOAD_EVERY_MS)
    return () => clearInterval(timer)
  }, [])
  const text = data && textOf(data, channel, isQueued)
  return text ? (
    <p class="mode-note" role="status">
      {text}
    </p>
  ) : null
}

function textOf(
  { is_frozen, is_paused, paused_channels }: Sending,
  channel: string,
  isQueued: boolean,
): string {
  const isChannel = paused_channels.includes(channel)
  return [
    is_frozen &&
      !isQueued &&
      t('The workspace is frozen: sends are refused. Ask the operator of the service.'),
    is_paused
      ? t('The operator has paused all sending.')
      : isChannel &&
        t('{channel} is paused by its provider or the operator.', {
          channel: channelName(channel),
        }),
    (is_paused || isChannel) &&
      (isQueued
        ? t('It is sent when the pause ends, or can be canceled.')
        : !is_frozen && t('Messages are accepted and paid for, and wait until the pause ends.')),
  ]
    .filter(Boolean)
    .join(' ')
}
