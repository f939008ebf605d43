CREATE TABLE "contact_words" (
	"workspace_id" text NOT NULL,
	"word" text NOT NULL,
	"contact_id" text NOT NULL,
	CONSTRAINT "contact_words_workspace_id_word_contact_id_pk" PRIMARY KEY("workspace_id","word","contact_id")
);--> statement-breakpoint
-- The words of `wordsOf` in rules/contact-words.ts.
INSERT INTO contact_words (workspace_id, word, contact_id)
SELECT DISTINCT workspace_id, encode(convert_to(left(word, 40), 'UTF8'), 'hex'), id
FROM contacts, LATERAL (
	SELECT word FROM regexp_split_to_table(search_text, E'[ \n''"(),/+’-]+') WITH ORDINALITY AS split (word, n)
	WHERE word <> '' ORDER BY n LIMIT 24
) AS words ORDER BY 1, 2, 3;
