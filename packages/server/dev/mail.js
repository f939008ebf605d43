import { mailOf, table } from './content.js'
import { h, time } from './dom.js'

/** A mail of the service to an owner, with its link. */
export function mailView({ id, to, subject, text, html, link, at, kind }) {
  const isAddress = link && /^https?:\/\//.test(link)
  return [
    h('header', {}, h('h2', {}, to), h('p', { class: 'facts' }, kind, ' · ', time(at))),
    isAddress
      ? table([['Link', h('a', { href: link, target: '_blank', rel: 'noreferrer' }, link)]])
      : '',
    h('section', {}, ...mailOf({ subject, html, text }, `/dev/api/mails/${id}/html`)),
  ]
}
