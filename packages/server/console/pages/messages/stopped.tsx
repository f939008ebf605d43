import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import { t } from '../../shell/text.ts'
import { channelName } from './channels.ts'

interface Sending {
  is_frozen: boolean
  is_paused: boolean
  paused_channels: string[]
}

/** Says why a message of this channel would be refused or would wait. `isQueued`: it is accepted already. */
export function Stopped({ channel, isQueued = false }: { channel: string; isQueued?: boolean }) {
  const { data } = useLoad((signal) => ownApi.get<Sending>('/sending', {}, signal), [])
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
) {
  if (is_frozen && !isQueued) {
    return t('The workspace is frozen: sends are refused. Ask the operator of the service.')
  }
  const after = isQueued
    ? t('It is sent when the pause ends, or can be canceled.')
    : t('Messages are accepted and paid for, and wait until the pause ends.')
  if (is_paused) return `${t('The operator has paused all sending.')} ${after}`
  const isChannel = paused_channels.includes(channel)
  return isChannel
    ? `${t('{channel} is paused by its provider or the operator.', { channel: channelName(channel) })} ${after}`
    : null
}
