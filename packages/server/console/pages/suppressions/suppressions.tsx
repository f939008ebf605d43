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
import { CHANNELS, channelName } from '../messages/channels.ts'
import { REASONS } from './reasons.ts'

const COLUMNS: readonly Column<Suppression>[] = [
  { name: 'Address', kind: 'main', value: ({ address }) => address },
  { name: 'Channel', value: ({ channel }) => channelName(channel) },
  {
    name: 'Reason',
    value: ({ reason }) => <Badge>{REASONS.find(([id]) => id === reason)?.[1]}</Badge>,
  },
  { name: 'Since', value: ({ created_at }) => <Time at={created_at} /> },
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
      title: 'Remove the suppression?',
      text: `${address} gets messages on ${channelName(channel)} again, from the next one on. After an opt-out, the person must have agreed to that.`,
      action: 'Remove',
      danger: true,
    })
    if (!isConfirmed) return
    await api.suppressions.remove(channel, address)
    toast(`${address} can get messages again`)
    list.reload()
  }
  return (
    <>
      <PageHead title="Suppressions" text="Addresses that get no messages on a channel.">
        {may('send') && (
          <Button kind="primary" icon="plus" onClick={() => setAdding(true)}>
            Add
          </Button>
        )}
      </PageHead>
      <div class="filters">
        <Search
          placeholder="Search by address"
          value={filter.search ?? ''}
          onInput={(search) => setQuery({ search })}
        />
        <Select
          bare
          label="Channel"
          value={filter.channel ?? ''}
          options={[['', 'All channels'], ...CHANNELS]}
          onInput={(channel) => setQuery({ channel })}
        />
        <Select
          bare
          label="Reason"
          value={filter.reason ?? ''}
          options={[['', 'All reasons'], ...REASONS]}
          onInput={(reason) => setQuery({ reason })}
        />
      </div>
      <ListPage
        of={list}
        rowsOf={(answer) => answer.suppressions}
        label="Suppressions"
        columns={COLUMNS}
        keyOf={({ channel, address }) => channel + address}
        {...(may('send') && {
          actions: (row: Suppression) => (
            <Button
              kind="quiet"
              icon="trash"
              label={`Remove ${row.address}`}
              onClick={() => remove(row)}
            />
          ),
        })}
        noun="suppression"
        empty={
          <Empty icon="suppressions" title="No suppressed addresses here">
            <p>Recipients who opt out, and addresses that bounce, appear here.</p>
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
      title="Suppress an address"
      action="Suppress"
      onClose={onClose}
      onSubmit={async () => {
        await api.suppressions.add({ channel: channel as Channel, address: address.trim() })
        onAdded()
        onClose()
      }}
    >
      {(error) => (
        <>
          <Select label="Channel" value={channel} options={CHANNELS} onInput={setChannel} />
          <TextInput
            label="Address"
            hint="A phone number with its country code, such as +255700000001, or an e-mail address."
            error={fieldError(error, 'address')}
            required
            autofocus
            value={address}
            onInput={setAddress}
          />
          <p class="small">
            New messages to the address are refused on this channel. Messages that wait to be sent
            fail and are refunded.
          </p>
        </>
      )}
    </FormDialog>
  )
}

export default { title: 'Suppressions', Page: Suppressions }
