CREATE TABLE "verification_counts" (
	"workspace_id" text NOT NULL,
	"country" text NOT NULL,
	"hour" timestamp (3) with time zone NOT NULL,
	"sent" bigint NOT NULL,
	"approved" bigint NOT NULL,
	"credits_used" bigint NOT NULL,
	CONSTRAINT "verification_counts_workspace_id_country_hour_pk" PRIMARY KEY("workspace_id","country","hour")
);
--> statement-breakpoint
CREATE TABLE "verification_pauses" (
	"workspace_id" text NOT NULL,
	"country" text NOT NULL,
	"paused_at" timestamp (3) with time zone NOT NULL,
	"sent" bigint NOT NULL,
	"approved" bigint NOT NULL,
	"allowed_until" timestamp (3) with time zone,
	CONSTRAINT "verification_pauses_workspace_id_country_pk" PRIMARY KEY("workspace_id","country")
);
--> statement-breakpoint
CREATE TABLE "verifications" (
	"workspace_id" text NOT NULL,
	"id" text NOT NULL,
	"api_key_id" text,
	"livemode" boolean NOT NULL,
	"channel" text NOT NULL,
	"recipient" text NOT NULL,
	"locale" text NOT NULL,
	"options" json NOT NULL,
	"status" text NOT NULL,
	"seed" text,
	"code_length" integer NOT NULL,
	"attempts" integer NOT NULL,
	"sent_at" json NOT NULL,
	"message_id" text NOT NULL,
	"credits_used" bigint NOT NULL,
	"country" text,
	"client_network" text,
	"metadata" json NOT NULL,
	"expires_in" integer NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"ended_at" timestamp (3) with time zone,
	CONSTRAINT "verifications_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
CREATE INDEX "verification_counts_hour" ON "verification_counts" USING btree ("hour");--> statement-breakpoint
CREATE INDEX "verifications_recipient" ON "verifications" USING btree ("workspace_id","recipient","livemode","created_at");--> statement-breakpoint
CREATE INDEX "verifications_open" ON "verifications" USING btree ("expires_at") WHERE ended_at is null;--> statement-breakpoint
CREATE INDEX "verifications_ended" ON "verifications" USING btree ("ended_at") WHERE ended_at is not null;--> statement-breakpoint
CREATE INDEX "verifications_network" ON "verifications" USING btree ("workspace_id","client_network","created_at");