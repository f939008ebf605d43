import type { Session, SignInLink, Workspace } from '@svc/client'
import { useState } from 'preact/hooks'
import {
  Badge,
  Button,
  ChangePassword,
  Checks,
  type Column,
  Copy,
  confirm,
  Facts,
  Form,
  LinkButton,
  Loaded,
  Money,
  PageHead,
  PasswordDialog,
  Preferences,
  SecondFactor,
  Table,
  Tabs,
  TextArea,
  TextInput,
  Time,
  toast,
} from '../../parts/index.ts'
import { api, fieldError } from '../../shell/api.ts'
import { facts } from '../../shell/facts.ts'
import { type Load, useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import { query, setQuery } from '../../shell/router.ts'
import { loadSession, may, session, signOut } from '../../shell/session.ts'
import { t } from '../../shell/text.ts'
import { wordOf } from '../../shell/words.ts'
import { QuietHoursCard } from './quiet-hours.tsx'

const TABS = [
  ['workspace', t('Workspace')],
  ['you', t('You')],
] as const

function Settings() {
  const tab = query.value.get('tab') === 'you' ? 'you' : 'workspace'
  return (
    <>
      <PageHead title={t('Settings')} />
      <Tabs
        label={t('Settings')}
        tabs={TABS}
        current={tab}
        onChoose={(id) => setQuery({ tab: id === 'you' ? id : '' })}
      />
      {tab === 'you' ? <You /> : <WorkspaceSettings />}
    </>
  )
}

interface Spending {
  is_frozen: boolean
  daily_limit: number | null
}

function WorkspaceSettings() {
  const account = useLoad((signal) => api.workspaces.account({ signal }), [])
  const spending = useLoad((signal) => ownApi.get<Spending>('/spending', {}, signal), [])
  return (
    <Loaded of={account}>
      {(workspace) => (
        <div class="stack columns">
          <section class="card">
            <h2>{t('Details')}</h2>
            <Details workspace={workspace} account={account} />
          </section>
          <section class="card">
            <h2>{t('Set by the service')}</h2>
            <Facts
              of={{
                [t('Id')]: <Copy value={workspace.id} />,
                [t('Owner')]: (
                  <>
                    {workspace.email}{' '}
                    {workspace.email_verified ? (
                      <Badge tone="good">{t('verified')}</Badge>
                    ) : (
                      <Badge tone="warn">{t('not verified')}</Badge>
                    )}
                  </>
                ),
                [t('Created')]: <Time at={workspace.created_at} exact />,
                [t('Daily limit')]: spending.data ? (
                  spending.data.daily_limit === null ? (
                    t('none')
                  ) : (
                    <Money credits={spending.data.daily_limit} />
                  )
                ) : null,
                [t('Spending')]: spending.data?.is_frozen ? (
                  <Badge tone="bad">{t('frozen')}</Badge>
                ) : null,
              }}
            />
            <div class="actions section">
              {!workspace.email_verified && may('bill') && (
                <Button
                  onClick={async () => {
                    await api.workspaces.resendVerification({ email: workspace.email })
                    toast(t('A mail with the link was sent'))
                  }}
                >
                  {t('Send the verification again')}
                </Button>
              )}
              <LinkButton to="/credits">{t('Credits and low balance')}</LinkButton>
            </div>
          </section>
          <section class="card">
            <h2>{t('Quiet hours')}</h2>
            <QuietHoursCard workspace={workspace} account={account} />
          </section>
          <section class="card">
            <h2>{t('Marketing messages')}</h2>
            <Endings workspace={workspace} account={account} />
          </section>
          <section class="card">
            <h2>{t('Mails to the owner')}</h2>
            <OwnerMails workspace={workspace} account={account} />
          </section>
        </div>
      )}
    </Loaded>
  )
}

const FIELDS = [
  ['name', t('Name'), ''],
  [
    'sender_name',
    t('Sender name'),
    t('The name that recipients see where a message names no sender.'),
  ],
  ['phone', t('Phone'), t('With the country code, such as +255700000001.')],
  ['country', t('Country'), t('Two letters, such as TZ.')],
] as const

function Details({ workspace, account }: { workspace: Workspace; account: Load<Workspace> }) {
  const [values, setValues] = useState<Record<string, string>>({})
  if (!may('bill')) {
    return <Facts of={Object.fromEntries(FIELDS.map(([id, text]) => [text, workspace[id]]))} />
  }
  return (
    <Form
      action={t('Save')}
      onSubmit={async () => {
        const changes = Object.entries(values).map(([id, value]) => [id, value.trim() || null])
        account.set(await api.workspaces.updateAccount(Object.fromEntries(changes)))
        setValues({})
        await loadSession()
        toast(t('Saved'))
      }}
    >
      {(error) =>
        FIELDS.map(([id, text, hint]) => (
          <TextInput
            key={id}
            label={text}
            hint={hint}
            required={id === 'name'}
            error={fieldError(error, id)}
            value={values[id] ?? workspace[id] ?? ''}
            onInput={(value) => setValues({ ...values, [id]: value })}
          />
        ))
      }
    </Form>
  )
}

/** The mails that the owner gets from the service. */
function OwnerMails({ workspace, account }: { workspace: Workspace; account: Load<Workspace> }) {
  const [chosen, setChosen] = useState<readonly string[]>(workspace.webhook_mails ? ['on'] : [])
  const text = t('When a webhook begins to fail, and when it is disabled')
  if (!may('bill')) {
    return <Facts of={{ [text]: workspace.webhook_mails ? t('yes') : t('no') }} />
  }
  return (
    <Form
      action={t('Save')}
      onSubmit={async () => {
        const webhook_mails = chosen.length > 0
        account.set(await api.workspaces.updateAccount({ webhook_mails }))
        toast(t('Saved'))
      }}
    >
      {() => (
        <Checks
          label={t('The owner gets a mail')}
          options={[['on', text, t('At most one an hour, to a verified address.')]]}
          chosen={chosen}
          onChange={setChosen}
        />
      )}
    </Form>
  )
}

/** What ends each message from a marketing template. */
function Endings({ workspace, account }: { workspace: Workspace; account: Load<Workspace> }) {
  const [address, setAddress] = useState(workspace.postal_address ?? '')
  const [optOut, setOptOut] = useState(workspace.sms_opt_out_text ?? '')
  if (!may('bill')) {
    return (
      <Facts
        of={{
          [t('Postal address')]: address || t('none'),
          [t('SMS opt-out')]: optOut || t('none'),
        }}
      />
    )
  }
  return (
    <Form
      action={t('Save closing texts')}
      onSubmit={async () => {
        const endings = {
          postal_address: address.trim() || null,
          sms_opt_out_text: optOut.trim() || null,
        }
        account.set(await api.workspaces.updateAccount(endings))
        toast(t('Saved'))
      }}
    >
      {(error) => (
        <>
          <TextArea
            label={t('Postal address')}
            rows={3}
            hint={t('The last paragraph of each e-mail from a marketing template.')}
            error={fieldError(error, 'postal_address')}
            value={address}
            onInput={setAddress}
          />
          <TextInput
            label={t('Opt-out text of SMS')}
            placeholder={t('STOP to end')}
            hint={t('The last line of each SMS from a marketing template. It counts in its price.')}
            error={fieldError(error, 'sms_opt_out_text')}
            value={optOut}
            onInput={setOptOut}
          />
        </>
      )}
    </Form>
  )
}

function Name() {
  const [name, setName] = useState(session.value?.user.name ?? '')
  return (
    <Form
      action={t('Save')}
      onSubmit={async () => {
        await ownApi.send('PUT', '/person', { name: name.trim() || null })
        await loadSession()
        toast(t('Saved'))
      }}
    >
      {(error) => (
        <TextInput
          label={t('Name')}
          autocomplete="name"
          hint={t('The other members see it, in each of your workspaces.')}
          error={fieldError(error, 'name')}
          value={name}
          onInput={setName}
        />
      )}
    </Form>
  )
}

function You() {
  const user = session.value?.user
  const isOwn = !facts.sign_in.includes('host')
  return (
    <div class="stack">
      <section class="card">
        <h2>{t('Your login')}</h2>
        <Facts
          of={{
            [t('Name')]: isOwn ? null : user?.name,
            [t('E-mail')]: user?.email,
            [t('Role')]: session.value && wordOf(session.value.role),
            [t('Id')]: <Copy value={user?.id ?? ''} />,
          }}
        />
      </section>
      <section class="card form">
        <h2>{t('This browser')}</h2>
        <Preferences />
      </section>
      {isOwn && (
        <>
          <section class="card">
            <h2>{t('Your name')}</h2>
            <Name />
          </section>
          <section class="card">
            <h2>{t('Password')}</h2>
            <ChangePassword
              name={user?.email ?? ''}
              onSubmit={async (json) => {
                await api.workspaces.changePassword(json)
                await signOut()
              }}
            />
          </section>
          <section class="card">
            <h2>{t('Second factor')}</h2>
            <SecondFactor path="/second-factor" code="otp" />
          </section>
          <Sessions />
          {facts.sign_in.includes('oidc') && <Links />}
        </>
      )}
    </div>
  )
}

const SESSIONS: readonly Column<Session>[] = [
  {
    name: t('Browser'),
    kind: 'main',
    value: ({ agent, is_current }) => (
      <>
        {browserOf(agent)} {is_current && <Badge tone="good">{t('this browser')}</Badge>}
      </>
    ),
  },
  { name: t('Network'), value: ({ network }) => network ?? t('unknown') },
  { name: t('Began'), value: ({ created_at }) => <Time at={created_at} /> },
  { name: t('Last seen'), value: ({ last_seen_at }) => <Time at={last_seen_at} /> },
]

/** A short name of a program, from its `User-Agent`. */
function browserOf(agent: string | null): string {
  const system = agent?.match(/Android|iPhone|iPad|Windows|Mac OS|Linux/)?.[0]
  const browser = agent?.match(/(Edg|OPR|Firefox|Chrome|Safari)\//)?.[1]
  if (!browser) return agent ?? t('Unknown')
  return system ? t('{browser} on {system}', { browser, system }) : browser
}

function Sessions() {
  const load = useLoad((signal) => api.sessions.list({ signal }), [])
  const [ending, setEnding] = useState<Session | 'all'>()
  return (
    <section>
      <div class="filters">
        <h2 class="section">{t('Sessions')}</h2>
        <Button kind="danger" onClick={() => setEnding('all')}>
          {t('End all')}
        </Button>
      </div>
      <Loaded of={load}>
        {({ sessions }) => (
          <Table
            label={t('Sessions')}
            columns={SESSIONS}
            rows={sessions}
            keyOf={({ id }) => id}
            actions={(one) => (
              <Button onClick={() => (one.is_current ? signOut() : setEnding(one))}>
                {one.is_current ? t('Sign out') : t('End')}
              </Button>
            )}
          />
        )}
      </Loaded>
      {ending && (
        <PasswordDialog
          title={ending === 'all' ? t('End all sessions?') : t('End this session?')}
          text={
            ending === 'all'
              ? t('You sign in again in every browser, in this one too. API keys stay valid.')
              : t('{agent}, network {network}.', {
                  agent: browserOf(ending.agent),
                  network: ending.network ?? t('unknown'),
                })
          }
          action={ending === 'all' ? t('End all') : t('End')}
          onClose={() => setEnding(undefined)}
          onSubmit={async (request) => {
            if (ending === 'all') {
              await api.sessions.endWithPassword(request)
              await signOut()
              return
            }
            await api.sessions.endWithPassword({ ...request, id: ending.id })
            toast(t('The session has ended'))
            load.reload()
          }}
        />
      )}
    </section>
  )
}

const LINKS: readonly Column<SignInLink>[] = [
  { name: t('Provider'), kind: 'main', value: ({ issuer }) => issuer },
  { name: t('Person at the provider'), value: ({ subject }) => subject },
  { name: t('Since'), value: ({ created_at }) => <Time at={created_at} exact /> },
]

function Links() {
  const load = useLoad((signal) => api.sessions.links({ signal }), [])
  async function unlink({ id, issuer }: SignInLink) {
    const isConfirmed = await confirm({
      title: t('End this link?'),
      text: t(
        'This person at {issuer} does not sign in as you any more. Sessions continue: end them too if they are not yours.',
        { issuer },
      ),
      action: t('End the link'),
      danger: true,
    })
    if (!isConfirmed) return
    await api.sessions.unlink(id)
    toast(t('The link has ended'))
    load.reload()
  }
  return (
    <section>
      <h2 class="section">{t('Links to sign-in providers')}</h2>
      <Loaded of={load}>
        {({ links }) =>
          links.length === 0 ? (
            <p>{t('No provider signs in as you.')}</p>
          ) : (
            <Table
              label={t('Links to sign-in providers')}
              columns={LINKS}
              rows={links}
              keyOf={({ id }) => id}
              actions={(one) => <Button onClick={() => unlink(one)}>{t('End')}</Button>}
            />
          )
        }
      </Loaded>
    </section>
  )
}

export default { title: t('Settings'), Page: Settings }
