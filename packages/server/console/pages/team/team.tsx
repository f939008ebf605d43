import type { Invitation, Member } from '@svc/client'
import { useState } from 'preact/hooks'
import {
  Badge,
  Button,
  type Column,
  confirm,
  FormDialog,
  Loaded,
  PageHead,
  PasswordDialog,
  Select,
  Table,
  TextInput,
  Time,
  toast,
} from '../../parts/index.ts'
import { api, fieldError } from '../../shell/api.ts'
import { type Load, useLoad } from '../../shell/load.ts'
import { chooseWorkspace, loadSession, may, session } from '../../shell/session.ts'
import { t } from '../../shell/text.ts'
import { wordOf } from '../../shell/words.ts'

type Role = Invitation['role']

const ROLES: readonly (readonly [Role, string])[] = [
  ['admin', t('Admin')],
  ['developer', t('Developer')],
  ['billing', t('Billing')],
  ['viewer', t('Viewer')],
]

const ROLE_TEXTS: Record<Role, string> = {
  admin: t('Everything except the change of the owner.'),
  developer: t('Messages, contacts, webhooks, keys and domains.'),
  billing: t('Credits and the account. No messages.'),
  viewer: t('Reads messages, contacts, webhooks, keys and domains.'),
}

function Team() {
  const [isInviting, setInviting] = useState(false)
  const [newOwner, setNewOwner] = useState<Member>()
  const [ending, setEnding] = useState<Member>()
  const members = useLoad((signal) => api.members.list({ signal }), [])
  const invitations = useLoad(
    (signal) =>
      may('administer')
        ? api.invitations.list({ signal })
        : Promise.resolve({ invitations: [] as Invitation[] }),
    [],
  )
  return (
    <>
      <PageHead
        title={t('Team')}
        text={t('The people of the workspace. API keys belong to the workspace, not to people.')}
      >
        {may('administer') && (
          <Button kind="primary" icon="plus" onClick={() => setInviting(true)}>
            {t('Invite')}
          </Button>
        )}
      </PageHead>
      <div class="stack">
        <Loaded of={members}>
          {({ members: people }) => (
            <Table
              label={t('Members')}
              columns={columnsOf(members)}
              rows={people}
              keyOf={({ id }) => id}
              actions={(one) => (
                <Actions
                  one={one}
                  members={members}
                  onMakeOwner={() => setNewOwner(one)}
                  onEndSessions={() => setEnding(one)}
                />
              )}
            />
          )}
        </Loaded>
        {invitations.data && invitations.data.invitations.length > 0 && (
          <section>
            <h2 class="section">{t('Open invitations')}</h2>
            <Table
              label={t('Open invitations')}
              columns={INVITATIONS}
              rows={invitations.data.invitations}
              keyOf={({ id }) => id}
              actions={(one) => <InvitationActions one={one} onChange={invitations.reload} />}
            />
          </section>
        )}
        {invitations.error !== undefined && <Loaded of={invitations}>{() => null}</Loaded>}
      </div>
      {isInviting && <Invite onClose={() => setInviting(false)} onInvited={invitations.reload} />}
      {newOwner && <MakeOwner member={newOwner} onClose={() => setNewOwner(undefined)} />}
      {ending && <EndSessions member={ending} onClose={() => setEnding(undefined)} />}
    </>
  )
}

function isMe({ id }: Member): boolean {
  return id === session.value?.user.id
}

function columnsOf(members: Load<unknown>): Column<Member>[] {
  async function change(member: Member, role: string) {
    try {
      await api.members.update(member.id, { role: role as Role })
      toast(t('{email} is {role} now', { email: member.email, role: wordOf(role) }))
    } finally {
      members.reload()
    }
  }
  return [
    {
      name: t('Person'),
      kind: 'main',
      value: (one) => (
        <>
          {one.name ?? one.email} {isMe(one) && <Badge tone="busy">{t('you')}</Badge>}
          {one.name && <small class="line">{one.email}</small>}
        </>
      ),
    },
    {
      name: t('Role'),
      value: (one) =>
        may('administer') && one.role !== 'owner' && !isMe(one) ? (
          <Select
            bare
            label={t('Role of {email}', { email: one.email })}
            value={one.role}
            options={ROLES}
            onInput={(role) =>
              change(one, role).catch((error: Error) => toast(error.message, 'bad'))
            }
          />
        ) : (
          wordOf(one.role)
        ),
    },
    { name: t('Since'), value: ({ created_at }) => <Time at={created_at} /> },
  ]
}

function Actions({
  one,
  members,
  onMakeOwner,
  onEndSessions,
}: {
  one: Member
  members: Load<unknown>
  onMakeOwner(): void
  onEndSessions(): void
}) {
  if (one.role === 'owner') return null
  async function remove() {
    const isConfirmed = await confirm({
      title: isMe(one) ? t('Leave the workspace?') : t('Remove {email}?', { email: one.email }),
      text: isMe(one)
        ? t('You lose access at once, in all sessions. API keys stay valid.')
        : t('The person loses access at once, in all sessions. API keys stay valid.'),
      action: isMe(one) ? t('Leave') : t('Remove'),
      danger: true,
    })
    if (!isConfirmed) return
    await api.members.remove(one.id)
    if (!isMe(one)) return members.reload()
    const other = session.value?.workspaces.find(({ id }) => id !== session.value?.workspace_id)
    if (other) await chooseWorkspace(other.id)
    else await loadSession()
  }
  return (
    <>
      {may('own') && <Button onClick={onMakeOwner}>{t('Make owner')}</Button>}{' '}
      {may('administer') && !isMe(one) && (
        <Button onClick={onEndSessions}>{t('End sessions')}</Button>
      )}{' '}
      {(may('administer') || isMe(one)) && (
        <Button kind="danger" onClick={remove}>
          {isMe(one) ? t('Leave') : t('Remove')}
        </Button>
      )}
    </>
  )
}

const INVITATIONS: readonly Column<Invitation>[] = [
  { name: t('E-mail'), kind: 'main', value: ({ email }) => email },
  { name: t('Role'), value: ({ role }) => wordOf(role) },
  { name: t('Valid until'), value: ({ expires_at }) => <Time at={expires_at} /> },
]

function InvitationActions({ one, onChange }: { one: Invitation; onChange(): void }) {
  const { id, email, role } = one
  async function resend() {
    await api.invitations.create({ email, role })
    toast(t('{email} gets a new link; the earlier one is not valid any more', { email }))
    onChange()
  }
  async function withdraw() {
    await api.invitations.delete(id)
    toast(t('The link is not valid any more'))
    onChange()
  }
  return (
    <>
      <Button onClick={resend}>{t('Send again')}</Button>{' '}
      <Button kind="danger" onClick={withdraw}>
        {t('Withdraw')}
      </Button>
    </>
  )
}

function Invite({ onClose, onInvited }: { onClose(): void; onInvited(): void }) {
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('developer')
  return (
    <FormDialog
      title={t('Invite a person')}
      action={t('Send the invitation')}
      onClose={onClose}
      onSubmit={async () => {
        await api.invitations.create({ email: email.trim(), role })
        toast(t('{email} gets a link that is valid for 7 days', { email }))
        onInvited()
        onClose()
      }}
    >
      {(error) => (
        <>
          <TextInput
            label={t('E-mail address')}
            type="email"
            required
            autofocus
            error={fieldError(error, 'email')}
            value={email}
            onInput={setEmail}
          />
          <Select
            label={t('Role')}
            value={role}
            options={ROLES}
            hint={ROLE_TEXTS[role]}
            onInput={(one) => setRole(one as Role)}
          />
        </>
      )}
    </FormDialog>
  )
}

function MakeOwner({ member, onClose }: { member: Member; onClose(): void }) {
  return (
    <PasswordDialog
      title={t('Make {email} the owner?', { email: member.email })}
      text={t(
        'You become an admin. All sessions of both end, this one too. Only the new owner can undo it.',
      )}
      action={t('Make owner')}
      onClose={onClose}
      onSubmit={async ({ current_password = '' }) => {
        await api.members.makeOwner(member.id, { current_password })
        onClose()
        await loadSession()
      }}
    />
  )
}

function EndSessions({ member, onClose }: { member: Member; onClose(): void }) {
  return (
    <PasswordDialog
      title={t('End the sessions of {email}?', { email: member.email })}
      text={t('The person signs in again in every browser and program. API keys stay valid.')}
      action={t('End all')}
      onClose={onClose}
      onSubmit={async (request) => {
        await api.members.endSessions(member.id, request)
        toast(t('All sessions of the person have ended'))
      }}
    />
  )
}

export default { title: t('Team'), Page: Team }
