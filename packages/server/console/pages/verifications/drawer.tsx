import type { CodeVerification } from '@svc/client'
import {
  Badge,
  Button,
  type Column,
  Copy,
  confirm,
  Drawer,
  Facts,
  Loaded,
  Money,
  StatusBadge,
  Table,
  Time,
  toast,
} from '../../parts/index.ts'
import { api } from '../../shell/api.ts'
import { number } from '../../shell/format.ts'
import { useLiveReload } from '../../shell/live.ts'
import { useLoad } from '../../shell/load.ts'
import { may } from '../../shell/session.ts'
import { t } from '../../shell/text.ts'
import { channelName } from '../messages/channels.ts'

type Sent = CodeVerification['messages'][number]

const MESSAGES: readonly Column<Sent>[] = [
  { name: t('Channel'), kind: 'main', value: ({ channel }) => channelName(channel) },
  { name: t('To'), value: ({ to }) => to },
  { name: t('Sent'), value: ({ sent_at }) => <Time at={sent_at} exact /> },
]

/** The status of a verification as a badge. */
export function CodeStatus({ status }: Pick<CodeVerification, 'status'>) {
  if (status === 'max_attempts') return <Badge tone="bad">{t('too many wrong codes')}</Badge>
  if (status === 'external') return <Badge>{t('checked elsewhere')}</Badge>
  return <StatusBadge status={status} />
}

/** Everything about one verification but its code. `onChange`: after a change of it. */
export function VerificationDrawer({
  id,
  onChange,
  onClose,
}: {
  id: string
  onChange(): void
  onClose(): void
}) {
  const load = useLoad(
    (signal) => api.verifications.get(id, { signal }).then(({ verification }) => verification),
    [id],
  )
  const one = load.data
  useLiveReload('verification.', load.reload, {
    isAbout: ({ data }) => data.verification_id === id,
  })
  // A fallback or a repetition is a new message, which no event of the verification reports.
  useLiveReload('message.', load.reload, { isAbout: () => one?.status === 'pending' })
  async function cancel() {
    const isConfirmed = await confirm({
      title: t('Cancel this verification?'),
      text: t('Its code is not valid any more. A message that was sent stays paid.'),
      action: t('Cancel the verification'),
      cancel: t('Back'),
      danger: true,
    })
    if (!isConfirmed) return
    await api.verifications.cancel(id)
    toast(t('The verification was canceled.'))
    load.reload()
    onChange()
  }
  return (
    <Drawer
      title={one ? t('Code to {to}', { to: one.to }) : t('Verification')}
      actions={
        one?.status === 'pending' &&
        may('send') && (
          <Button kind="danger" onClick={cancel}>
            {t('Cancel verification')}
          </Button>
        )
      }
      onClose={onClose}
    >
      <Loaded of={load}>
        {(verification) => (
          <div class="stack">
            <VerificationFacts {...verification} />
            <section>
              <h3>{t('Messages')}</h3>
              <Table
                label={t('Messages with the code')}
                columns={MESSAGES}
                rows={verification.messages}
                keyOf={({ message_id }) => message_id}
                to={({ message_id }) => `/messages/${message_id}`}
              />
            </section>
          </div>
        )}
      </Loaded>
    </Drawer>
  )
}

function VerificationFacts(one: CodeVerification) {
  const isPending = one.status === 'pending'
  const [next] = one.fallback
  return (
    <Facts
      of={{
        [t('Status')]: (
          <>
            <CodeStatus status={one.status} />
            {!one.livemode && <Badge tone="warn">{t('test')}</Badge>}
          </>
        ),
        [t('Id')]: <Copy value={one.id} />,
        [t('To')]: one.to,
        [t('Language')]: one.locale,
        [t('Wrong codes')]: number(one.attempts),
        [t('Attempts left')]: isPending && number(one.attempts_left),
        [t('Started')]: <Time at={one.created_at} exact />,
        [isPending ? t('Expires') : t('Valid until')]: <Time at={one.expires_at} exact />,
        [t('Ended')]: one.ended_at && <Time at={one.ended_at} exact />,
        [t('Sent again at the earliest')]: isPending && <Time at={one.next_send_at} exact />,
        [t('Next channel')]: isPending && next && (
          <>
            {t('{channel} to {recipient}', {
              channel: channelName(next.channel),
              recipient: next.to,
            })}
            {one.next_fallback_at && (
              <>
                , <Time at={one.next_fallback_at} />
              </>
            )}
          </>
        ),
        [t('Price')]: <Money credits={one.credits_used} />,
        [t('Metadata')]: Object.keys(one.metadata).length > 0 && (
          <pre>{JSON.stringify(one.metadata, null, 2)}</pre>
        ),
      }}
    />
  )
}
