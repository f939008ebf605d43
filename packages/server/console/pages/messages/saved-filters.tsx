import { useState } from 'preact/hooks'
import {
  Button,
  confirm,
  Dialog,
  FormDialog,
  Select,
  Table,
  TextInput,
  toast,
} from '../../parts/index.ts'
import { fieldError } from '../../shell/api.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import { go } from '../../shell/router.ts'
import { t } from '../../shell/text.ts'

type Values = Readonly<Record<string, string | undefined>>

interface SavedFilter {
  id: string
  name: string
  filter: Values
}

const PATH = '/saved-filters'

/** The filters that may be saved: a saved filter names no recipient. */
const SAVED = [
  ...['channel', 'status', 'period', 'from', 'to', 'bulk_id', 'broadcast_id', 'error_code'],
  ...['api_key_id', 'sender', 'tag', 'calling_code'],
]

function entriesOf(filter: Values): [string, string][] {
  return SAVED.flatMap((name) => {
    const value = filter[name]
    return value ? [[name, value] as [string, string]] : []
  })
}

/** The address of the messages that a filter shows. */
function addressOf(filter: Values): string {
  const text = new URLSearchParams(entriesOf(filter).toSorted()).toString()
  return `/messages${text && `?${text}`}`
}

/** A menu of the person's saved filters, and what saves the shown one. `filter`: the filters in the address. */
export function SavedFilters({ filter }: { filter: Values }) {
  const load = useLoad(
    (signal) => ownApi.get<{ saved_filters: SavedFilter[] }>(PATH, {}, signal),
    [],
  )
  const [open, setOpen] = useState<'save' | 'change' | null>(null)
  const saved = load.data?.saved_filters ?? []
  const shown = addressOf(filter)
  const current = saved.find((one) => addressOf(one.filter) === shown)
  const mayBeSaved = !current && entriesOf(filter).length > 0
  const close = () => setOpen(null)
  return (
    <>
      {saved.length > 0 && (
        <Select
          bare
          label={t('Saved filters')}
          value={current?.id ?? ''}
          options={[['', t('Saved filters')], ...saved.map(({ id, name }) => [id, name] as const)]}
          onInput={(id) => {
            const one = saved.find((each) => each.id === id)
            go(one ? addressOf(one.filter) : '/messages')
          }}
        />
      )}
      {mayBeSaved && <Button onClick={() => setOpen('save')}>{t('Save filter')}</Button>}
      {saved.length > 0 && (
        <Button onClick={() => setOpen('change')}>{t('Change saved filters')}</Button>
      )}
      {open === 'save' && (
        <Save
          filter={Object.fromEntries(entriesOf(filter))}
          onSaved={load.reload}
          onClose={close}
        />
      )}
      {open === 'change' && <Change saved={saved} onChange={load.reload} onClose={close} />}
    </>
  )
}

function Save({ filter, onSaved, onClose }: { filter: Values; onSaved(): void; onClose(): void }) {
  const [name, setName] = useState('')
  return (
    <FormDialog
      title={t('Save filter')}
      action={t('Save')}
      onClose={onClose}
      onSubmit={async () => {
        await ownApi.send('POST', PATH, { name, filter })
        toast(t('Saved.'))
        onSaved()
        onClose()
      }}
    >
      {(error) => (
        <TextInput
          label={t('Name')}
          hint={t('Only you see it, in this workspace. A search text and a contact are not saved.')}
          autofocus
          value={name}
          onInput={setName}
          error={fieldError(error, 'name')}
        />
      )}
    </FormDialog>
  )
}

function Change({
  saved,
  onChange,
  onClose,
}: {
  saved: readonly SavedFilter[]
  onChange(): void
  onClose(): void
}) {
  const [renamed, setRenamed] = useState<SavedFilter | null>(null)
  async function remove({ id, name }: SavedFilter) {
    const question = {
      title: t('Delete the filter {name}?', { name }),
      text: t('The messages stay.'),
      action: t('Delete'),
      danger: true,
    }
    if (!(await confirm(question))) return
    await ownApi.send('DELETE', `${PATH}/${id}`)
    onChange()
    if (saved.length === 1) onClose()
  }
  if (renamed) {
    return <Rename of={renamed} onChange={onChange} onClose={() => setRenamed(null)} />
  }
  return (
    <Dialog
      title={t('Saved filters')}
      onClose={onClose}
      actions={<Button onClick={onClose}>{t('Close')}</Button>}
    >
      <Table
        label={t('Saved filters')}
        columns={[{ name: t('Name'), kind: 'main', value: ({ name }) => name }]}
        rows={saved}
        keyOf={({ id }) => id}
        actions={(one) => (
          <>
            <Button onClick={() => setRenamed(one)}>{t('Rename')}</Button>
            <Button kind="danger" onClick={() => remove(one)}>
              {t('Delete')}
            </Button>
          </>
        )}
      />
    </Dialog>
  )
}

function Rename({
  of: { id, name: before, filter },
  onChange,
  onClose,
}: {
  of: SavedFilter
  onChange(): void
  onClose(): void
}) {
  const [name, setName] = useState(before)
  return (
    <FormDialog
      title={t('Rename')}
      action={t('Save')}
      onClose={onClose}
      onSubmit={async () => {
        await ownApi.send('PUT', `${PATH}/${id}`, { name, filter })
        onChange()
        onClose()
      }}
    >
      {(error) => (
        <TextInput
          label={t('Name')}
          autofocus
          value={name}
          onInput={setName}
          error={fieldError(error, 'name')}
        />
      )}
    </FormDialog>
  )
}
