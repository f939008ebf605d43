import { useMemo, useState } from 'preact/hooks'
import type { CapturedMail, WholeMail } from '../../../src/dev/dev-answers.ts'
import {
  Badge,
  Empty,
  Facts,
  Icon,
  LinkButton,
  Loaded,
  PageHead,
  Search,
  StatusBadge,
  Tabs,
  Time,
} from '../../parts/index.ts'
import { count, number } from '../../shell/format.ts'
import { useLiveReload } from '../../shell/live.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import type { PageProps } from '../../shell/page.ts'
import { hrefOf, query, setQuery } from '../../shell/router.ts'
import { t } from '../../shell/text.ts'
import { wordOf } from '../../shell/words.ts'
import { addressOf, useToolEvents } from './live.ts'

function Mails({ params }: PageProps) {
  const load = useLoad(
    (signal) => ownApi.get<{ mails: CapturedMail[] }>('/dev/mails', {}, signal),
    [],
  )
  useLiveReload('message.', load.reload, { isAbout: ({ data }) => data.channel === 'email' })
  useToolEvents('mail', load.reload, load.reload)
  const search = query.value.get('search') ?? ''
  return (
    <>
      <PageHead
        title={t('Mails')}
        text={t(
          'E-mails that went to no mail server: messages in the sandbox, and mails of the service to owners and members.',
        )}
      />
      <Loaded of={load}>
        {({ mails }) => {
          if (mails.length === 0) {
            return (
              <Empty icon="mail" title={t('No mails yet')}>
                <p>{t('Send an e-mail, or sign up a workspace: the mail appears here at once.')}</p>
                <LinkButton to="/tools">{t('Quick start')}</LinkButton>
              </Empty>
            )
          }
          const text = search.toLowerCase()
          const found = mails.filter((one) =>
            `${one.to} ${one.subject}`.toLowerCase().includes(text),
          )
          return (
            <div class={params.id ? 'split is-open' : 'split'}>
              <div class="split-list">
                <Search
                  placeholder={t('Search recipient or subject')}
                  value={search}
                  onInput={(value) => setQuery({ search: value })}
                />
                <List mails={found} current={params.id} />
                <p class="unseen" role="status">
                  {count(mails.length, 'mail')}
                </p>
              </div>
              {params.id ? (
                <Mail key={params.id} id={params.id} />
              ) : (
                <p class="split-hint muted">{t('Choose a mail.')}</p>
              )}
            </div>
          )
        }}
      </Loaded>
    </>
  )
}

function List({ mails, current }: { mails: readonly CapturedMail[]; current: string | undefined }) {
  if (mails.length === 0) return <p class="muted">{t('No mail matches the search.')}</p>
  return (
    <ul class="split-rows">
      {mails.map(({ id, to, subject, at, from, state }) => (
        <li key={id}>
          <a
            href={hrefOf(`/tools/mails/${id}${location.search}`)}
            aria-current={id === current ? 'true' : undefined}
          >
            <strong>{subject || t('(no subject)')}</strong>
            <span>{to}</span>
            <small>
              {from === 'service' ? <Badge>{wordOf(state)}</Badge> : <StatusBadge status={state} />}{' '}
              <Time at={at} />
            </small>
          </a>
        </li>
      ))}
    </ul>
  )
}

function Mail({ id }: { id: string }) {
  const load = useLoad((signal) => ownApi.get<WholeMail>(`/dev/mails/${id}`, {}, signal), [id])
  return (
    <section class="split-detail card" aria-label={t('Mail')}>
      <a class="split-back" href={hrefOf(`/tools/mails${location.search}`)}>
        <Icon name="left" /> {t('All mails')}
      </a>
      <Loaded of={load}>{(mail) => <MailView mail={mail} />}</Loaded>
    </section>
  )
}

function MailView({ mail }: { mail: WholeMail }) {
  const { id, html, text, headers, attachments, from, to, subject, at } = mail
  const { links, isRemote } = useMemo(() => contentsOf(mail), [mail])
  const tabs = [
    ...(html
      ? ([
          ['desktop', t('Desktop')],
          ['phone', t('Phone')],
        ] as const)
      : []),
    ...(text ? ([['text', t('Text')]] as const) : []),
    ['headers', t('Headers')],
    ['source', t('Source')],
  ] as const
  const [tab, setTab] = useState<string>(tabs[0][0])
  return (
    <>
      <h2 class="mail-subject">{subject}</h2>
      <Facts
        of={{
          [t('From')]: headers.find(([name]) => name === 'From')?.[1],
          [t('To')]: to,
          [t('Time')]: <Time at={at} exact />,
          [t('Message')]: from === 'sandbox' ? <a href={hrefOf(`/messages/${id}`)}>{id}</a> : null,
        }}
      />
      {attachments.length > 0 && (
        <ul class="mail-files" aria-label={t('Attachments')}>
          {attachments.map(({ name, bytes }, i) => (
            <li key={name}>
              <a href={addressOf(`/mails/${id}/attachments/${i}`)} download={name}>
                {name}
              </a>{' '}
              <small>{t('{size} kB', { size: number(Math.ceil(bytes / 1000)) })}</small>
            </li>
          ))}
        </ul>
      )}
      <Tabs label={t('View')} tabs={tabs} current={tab} onChoose={setTab} />
      {(tab === 'desktop' || tab === 'phone') && (
        <iframe
          class={`mail-frame ${tab}`}
          title={t('The mail')}
          sandbox="allow-popups allow-popups-to-escape-sandbox"
          src={addressOf(`/mails/${id}/html`)}
        />
      )}
      {isRemote && (tab === 'desktop' || tab === 'phone') && (
        <p class="small">{t('Images and styles from other hosts are not loaded here.')}</p>
      )}
      {tab === 'text' && <pre>{text}</pre>}
      {tab === 'headers' && <pre>{headers.map((one) => one.join(': ')).join('\n')}</pre>}
      {tab === 'source' && <Source id={id} />}
      {links.length > 0 && (
        <>
          <h3>{t('Links')}</h3>
          <ul class="mail-links">
            {links.map((link) => (
              <li key={link}>
                <a href={link} target="_blank" rel="noreferrer">
                  {link}
                </a>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  )
}

const SHOWN_MAX = 100_000

function Source({ id }: { id: string }) {
  const address = addressOf(`/mails/${id}/source`)
  const load = useLoad(async (signal) => (await fetch(address, { signal })).text(), [id])
  return (
    <Loaded of={load}>
      {(source) => (
        <>
          <p>
            <a href={address} download={`${id}.eml`}>
              {t('Save as a file')}
            </a>
          </p>
          <pre>
            {source.slice(0, SHOWN_MAX)}
            {source.length > SHOWN_MAX && '…'}
          </pre>
        </>
      )}
    </Loaded>
  )
}

const REMOTE =
  ':is(img, source, video, audio)[src*="//"], [srcset*="//"], link[href], [background*="//"], [x-style*="url("], x-style'

/** The links of a mail, and whether it names contents of other hosts. A parsed document loads and runs nothing. */
function contentsOf({ html, text }: WholeMail): { links: string[]; isRemote: boolean } {
  // The policy of the console refuses styles also in a document that is only parsed, and the browser reports each one.
  const unstyled = html?.replace(/(<\/?|\s)style(?=[\s=>])/gi, '$1x-style')
  const parsed = new DOMParser().parseFromString(unstyled ?? '', 'text/html')
  const hrefs = [...parsed.querySelectorAll('a[href]')].map((one) => one.getAttribute('href') ?? '')
  const found = html ? hrefs : (text?.match(/https?:\/\/[^\s<>"]+/g) ?? [])
  const isRemote = [...parsed.querySelectorAll(REMOTE)].some((one) =>
    /\/\//.test(one.tagName === 'X-STYLE' ? (one.textContent ?? '') : one.outerHTML),
  )
  return { links: [...new Set(found.filter((link) => /^(https?:|mailto:)/i.test(link)))], isRemote }
}

export default { title: t('Mails'), Page: Mails }
