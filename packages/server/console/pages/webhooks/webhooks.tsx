import type { Webhook } from '@svc/client'
import { useState } from 'preact/hooks'
import {
  Button,
  type Column,
  Empty,
  ListPage,
  PageHead,
  SecretDialog,
  Time,
} from '../../parts/index.ts'
import { api } from '../../shell/api.ts'
import { useLoad } from '../../shell/load.ts'
import type { PageProps } from '../../shell/page.ts'
import { go, query } from '../../shell/router.ts'
import { may } from '../../shell/session.ts'
import { t } from '../../shell/text.ts'
import { eventsText, OneWebhook, WebhookState } from './one-webhook.tsx'
import { WebhookForm } from './webhook-form.tsx'

const COLUMNS: readonly Column<Webhook>[] = [
  {
    name: t('URL'),
    kind: 'main',
    value: ({ url, description }) => (
      <>
        {url} {description && <small class="line">{description}</small>}
      </>
    ),
  },
  { name: t('State'), value: (webhook) => <WebhookState {...webhook} /> },
  { name: t('Events'), kind: 'wide', value: ({ events }) => eventsText(events) },
  {
    name: t('Last success'),
    value: ({ last_success_at: at }) => (at ? <Time at={at} /> : t('never')),
  },
]

function Webhooks({ params: { id, delivery } }: PageProps) {
  return id ? <OneWebhook id={id} deliveryId={delivery} /> : <List />
}

function List() {
  const after = query.value.get('after') ?? undefined
  const list = useLoad((signal) => api.webhooks.list({ after, limit: 25 }, { signal }), [after])
  const [isOpen, setOpen] = useState(false)
  const [created, setCreated] = useState<{ id: string; secret: string } | null>(null)
  const add = may('develop') && (
    <Button kind="primary" icon="plus" onClick={() => setOpen(true)}>
      {t('Add webhook')}
    </Button>
  )
  return (
    <>
      <PageHead
        title={t('Webhooks')}
        text={t('Events of this workspace, sent to your server as signed requests.')}
      >
        {add}
      </PageHead>
      <ListPage
        of={list}
        rowsOf={(answer) => answer.webhooks}
        label={t('Webhooks')}
        columns={COLUMNS}
        keyOf={({ id }) => id}
        to={({ id }) => `/webhooks/${id}`}
        noun="webhook"
        empty={
          <Empty icon="webhooks" title={t('No webhooks yet')}>
            <p>
              {t('A webhook tells your server when a message is delivered, fails or is received.')}
            </p>
            {add}
          </Empty>
        }
      />
      {isOpen && (
        <WebhookForm
          onClose={() => setOpen(false)}
          onSaved={({ id, secret }) => {
            setOpen(false)
            if (secret) setCreated({ id, secret })
            else go(`/webhooks/${id}`)
          }}
        />
      )}
      {created && (
        <SecretDialog
          title={t('Signing secret')}
          secret={created.secret}
          onClose={() => go(`/webhooks/${created.id}`)}
        >
          <p class="muted">{t('Your server verifies each request with it.')}</p>
        </SecretDialog>
      )}
    </>
  )
}

export default { title: t('Webhooks'), Page: Webhooks }
