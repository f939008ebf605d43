CREATE TABLE "account_tokens" (
	"token_hash" text PRIMARY KEY NOT NULL,
	"workspace_id" text NOT NULL,
	"purpose" text NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "api_key_spending" (
	"workspace_id" text NOT NULL,
	"api_key_id" text NOT NULL,
	"day" text NOT NULL,
	"spent" bigint NOT NULL,
	CONSTRAINT "api_key_spending_workspace_id_api_key_id_day_pk" PRIMARY KEY("workspace_id","api_key_id","day")
);
--> statement-breakpoint
CREATE TABLE "bulks" (
	"id" text NOT NULL,
	"workspace_id" text NOT NULL,
	"api_key_id" text,
	"channel" text NOT NULL,
	"livemode" boolean NOT NULL,
	"total" integer NOT NULL,
	"accepted" integer NOT NULL,
	"rejected" integer NOT NULL,
	"duplicates" integer NOT NULL,
	"credits_used" bigint NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "bulks_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
CREATE TABLE "contact_tags" (
	"workspace_id" text NOT NULL,
	"tag" text NOT NULL,
	"contact_id" text NOT NULL,
	CONSTRAINT "contact_tags_workspace_id_tag_contact_id_pk" PRIMARY KEY("workspace_id","tag","contact_id")
);
--> statement-breakpoint
CREATE TABLE "contacts" (
	"id" text NOT NULL,
	"workspace_id" text NOT NULL,
	"name" text,
	"phone" text,
	"email" text,
	"email_key" text,
	"external_id" text,
	"tags" json NOT NULL,
	"attributes" json NOT NULL,
	"subscriptions" json NOT NULL,
	"search_text" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "contacts_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
CREATE TABLE "message_counts" (
	"workspace_id" text NOT NULL,
	"channel" text NOT NULL,
	"status" text NOT NULL,
	"count" bigint NOT NULL,
	CONSTRAINT "message_counts_workspace_id_channel_status_pk" PRIMARY KEY("workspace_id","channel","status")
);
--> statement-breakpoint
CREATE TABLE "purchases" (
	"id" text NOT NULL,
	"workspace_id" text NOT NULL,
	"package_id" text NOT NULL,
	"status" text NOT NULL,
	"credits" bigint NOT NULL,
	"amount" integer NOT NULL,
	"currency" text NOT NULL,
	"provider" text NOT NULL,
	"session_id" text,
	"checkout_url" text,
	"success_url" text,
	"cancel_url" text,
	"version" integer NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"paid_at" timestamp (3) with time zone,
	CONSTRAINT "purchases_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
CREATE TABLE "suppressions" (
	"workspace_id" text NOT NULL,
	"channel" text NOT NULL,
	"address" text NOT NULL,
	"reason" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "suppressions_workspace_id_channel_address_pk" PRIMARY KEY("workspace_id","channel","address")
);
--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "previous_secret" text;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "previous_secret_ends_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "account_tokens_workspace" ON "account_tokens" USING btree ("workspace_id","purpose");--> statement-breakpoint
CREATE INDEX "account_tokens_expires" ON "account_tokens" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "contact_tags_contact" ON "contact_tags" USING btree ("workspace_id","contact_id");--> statement-breakpoint
CREATE UNIQUE INDEX "contacts_phone" ON "contacts" USING btree ("workspace_id","phone");--> statement-breakpoint
CREATE UNIQUE INDEX "contacts_email_key" ON "contacts" USING btree ("workspace_id","email_key");--> statement-breakpoint
CREATE UNIQUE INDEX "contacts_external_id" ON "contacts" USING btree ("workspace_id","external_id");--> statement-breakpoint
CREATE UNIQUE INDEX "purchases_session" ON "purchases" USING btree ("session_id");--> statement-breakpoint
CREATE INDEX "messages_kind" ON "messages" USING btree ("workspace_id","channel","status","id");--> statement-breakpoint
CREATE INDEX "messages_bulk" ON "messages" USING btree ("workspace_id","bulk_id","id") WHERE bulk_id is not null;--> statement-breakpoint
INSERT INTO message_counts (workspace_id, channel, status, count) SELECT workspace_id, channel, status, count(*) FROM messages GROUP BY workspace_id, channel, status;
