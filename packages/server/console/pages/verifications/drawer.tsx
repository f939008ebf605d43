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
import { channelName } from '../messages/channels.ts'

type Sent = CodeVerification['messages'][number]

const MESSAGES: readonly Column<Sent>[] = [
  { name: 'Channel', kind: 'main', value: ({ channel }) => channelName(channel) },
  { name: 'To', value: ({ to }) => to },
  { name: 'Sent', value: ({ sent_at }) => <Time at={sent_at} exact /> },
]

/** The status of a verification as a badge. */
export function CodeStatus({ status }: Pick<CodeVerification, 'status'>) {
  if (status === 'max_attempts') return <Badge tone="bad">too many wrong codes</Badge>
  if (status === 'external') return <Badge>checked elsewhere</Badge>
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
      title: 'Cancel this verification?',
      text: 'Its code is not valid any more. A message that was sent stays paid.',
      action: 'Cancel the verification',
      cancel: 'Back',
      danger: true,
    })
    if (!isConfirmed) return
    await api.verifications.cancel(id)
    toast('The verification was canceled.')
    load.reload()
    onChange()
  }
  return (
    <Drawer
      title={one ? `Code to ${one.to}` : 'Verification'}
      actions={
        one?.status === 'pending' &&
        may('send') && (
          <Button kind="danger" onClick={cancel}>
            Cancel verification
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
              <h3>Messages</h3>
              <Table
                label="Messages with the code"
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
        Status: (
          <>
            <CodeStatus status={one.status} />
            {!one.livemode && <Badge tone="warn">test</Badge>}
          </>
        ),
        Id: <Copy value={one.id} />,
        To: one.to,
        Language: one.locale,
        'Wrong codes': number(one.attempts),
        'Attempts left': isPending && number(one.attempts_left),
        Started: <Time at={one.created_at} exact />,
        [isPending ? 'Expires' : 'Valid until']: <Time at={one.expires_at} exact />,
        Ended: one.ended_at && <Time at={one.ended_at} exact />,
        'Sent again at the earliest': isPending && <Time at={one.next_send_at} exact />,
        'Next channel': isPending && next && (
          <>
            {channelName(next.channel)} to {next.to}
            {one.next_fallback_at && (
              <>
                , <Time at={one.next_fallback_at} />
              </>
            )}
          </>
        ),
        Price: <Money credits={one.credits_used} />,
        Metadata: Object.keys(one.metadata).length > 0 && (
          <pre>{JSON.stringify(one.metadata, null, 2)}</pre>
        ),
      }}
    />
  )
}
