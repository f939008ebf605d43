CREATE TABLE "broadcasts" (
	"workspace_id" text NOT NULL,
	"id" text NOT NULL,
	"api_key_id" text NOT NULL,
	"name" text,
	"channel" text NOT NULL,
	"sender" text,
	"template" text NOT NULL,
	"template_version" integer,
	"template_locale" text,
	"variables" json NOT NULL,
	"audience" json NOT NULL,
	"rate" integer,
	"status" text NOT NULL,
	"pause_reason" text,
	"pause_message" text,
	"scheduled_at" timestamp (3) with time zone,
	"next_at" timestamp (3) with time zone,
	"cursor" text NOT NULL,
	"until_id" text,
	"last_bulk_id" text,
	"canceled_through" text NOT NULL,
	"audience_size" integer,
	"contacts" integer NOT NULL,
	"accepted" integer NOT NULL,
	"suppressed" integer NOT NULL,
	"no_address" integer NOT NULL,
	"rejected" integer NOT NULL,
	"credits_used" bigint NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"started_at" timestamp (3) with time zone,
	"finished_at" timestamp (3) with time zone,
	CONSTRAINT "broadcasts_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
ALTER TABLE "bulks" ADD COLUMN "broadcast_id" text;--> statement-breakpoint
CREATE INDEX "broadcasts_due" ON "broadcasts" USING btree ("next_at") WHERE next_at is not null;--> statement-breakpoint
CREATE INDEX "bulks_broadcast" ON "bulks" USING btree ("workspace_id","broadcast_id","id") WHERE broadcast_id is not null;