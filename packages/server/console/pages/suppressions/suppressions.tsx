import type { Channel, Suppression } from '@svc/client'
import { useState } from 'preact/hooks'
import {
  Badge,
  Button,
  type Column,
  confirm,
  Empty,
  FormDialog,
  ListPage,
  PageHead,
  Search,
  Select,
  TextInput,
  Time,
  toast,
} from '../../parts/index.ts'
import { api, fieldError } from '../../shell/api.ts'
import { useLoad } from '../../shell/load.ts'
import { filtersOf, setQuery } from '../../shell/router.ts'
import { may } from '../../shell/session.ts'
import { t } from '../../shell/text.ts'
import { CHANNELS, channelName } from '../messages/channels.ts'
import { REASONS } from './reasons.ts'

const COLUMNS: readonly Column<Suppression>[] = [
  { name: t('Address'), kind: 'main', value: ({ address }) => address },
  { name: t('Channel'), value: ({ channel }) => channelName(channel) },
  {
    name: t('Reason'),
    value: ({ reason }) => <Badge>{REASONS.find(([id]) => id === reason)?.[1]}</Badge>,
  },
  { name: t('Since'), value: ({ created_at }) => <Time at={created_at} /> },
]

function Suppressions() {
  const [isAdding, setAdding] = useState(false)
  const filter = filtersOf('search', 'channel', 'reason', 'after')
  const list = useLoad(
    (signal) => api.suppressions.list({ ...filter, limit: 50 }, { signal }),
    [filter],
  )
  async function remove({ channel, address }: Suppression) {
    const isConfirmed = await confirm({
      title: t('Remove the suppression?'),
      text: t(
        '{address} gets messages on {channel} again, from the next one on. After an opt-out, the person must have agreed to that.',
        { address, channel: channelName(channel) },
      ),
      action: t('Remove'),
      danger: true,
    })
    if (!isConfirmed) return
    await api.suppressions.remove(channel, address)
    toast(t('{address} can get messages again', { address }))
    list.reload()
  }
  return (
    <>
      <PageHead title={t('Suppressions')} text={t('Addresses that get no messages on a channel.')}>
        {may('send') && (
          <Button kind="primary" icon="plus" onClick={() => setAdding(true)}>
            {t('Add')}
          </Button>
        )}
      </PageHead>
      <div class="filters">
        <Search
          placeholder={t('Search by address')}
          value={filter.search ?? ''}
          onInput={(search) => setQuery({ search })}
        />
        <Select
          bare
          label={t('Channel')}
          value={filter.channel ?? ''}
          options={[['', t('All channels')], ...CHANNELS]}
          onInput={(channel) => setQuery({ channel })}
        />
        <Select
          bare
          label={t('Reason')}
          value={filter.reason ?? ''}
          options={[['', t('All reasons')], ...REASONS]}
          onInput={(reason) => setQuery({ reason })}
        />
      </div>
      <ListPage
        of={list}
        rowsOf={(answer) => answer.suppressions}
        label={t('Suppressions')}
        columns={COLUMNS}
        keyOf={({ channel, address }) => channel + address}
        {...(may('send') && {
          actions: (row: Suppression) => (
            <Button
              kind="quiet"
              icon="trash"
              label={t('Remove {address}', { address: row.address })}
              onClick={() => remove(row)}
            />
          ),
        })}
        noun="suppression"
        empty={
          <Empty icon="suppressions" title={t('No suppressed addresses here')}>
            <p>{t('Recipients who opt out, and addresses that bounce, appear here.')}</p>
          </Empty>
        }
      />
      {isAdding && <Add onClose={() => setAdding(false)} onAdded={list.reload} />}
    </>
  )
}

function Add({ onClose, onAdded }: { onClose(): void; onAdded(): void }) {
  const [channel, setChannel] = useState<string>('sms')
  const [address, setAddress] = useState('')
  return (
    <FormDialog
      title={t('Suppress an address')}
      action={t('Suppress')}
      onClose={onClose}
      onSubmit={async () => {
        await api.suppressions.add({ channel: channel as Channel, address: address.trim() })
        onAdded()
        onClose()
      }}
    >
      {(error) => (
        <>
          <Select label={t('Channel')} value={channel} options={CHANNELS} onInput={setChannel} />
          <TextInput
            label={t('Address')}
            hint={t(
              'A phone number with its country code, such as +255700000001, or an e-mail address.',
            )}
            error={fieldError(error, 'address')}
            required
            autofocus
            value={address}
            onInput={setAddress}
          />
          <p class="small">
            {t(
              'New messages to the address are refused on this channel. Messages that wait to be sent fail and are refunded.',
            )}
          </p>
        </>
      )}
    </FormDialog>
  )
}

export default { title: t('Suppressions'), Page: Suppressions }
